const NAME = 'espalier-key';

/** Returns the API key that was entered in this tab; null on loopback, where the link of the installation lets a browser in. */
export function readKey(): string | null {
  try {
    return sessionStorage.getItem(NAME);
  } catch {
    return null; // a frame without an origin has no storage
  }
}

/** Keeps an API key until the tab is closed. */
export function keepKey(key: string): void {
  sessionStorage.setItem(NAME, key);
}

/** Returns the headers that show who asks. */
export function authorization(): Record<string, string> {
  const key = readKey();
  return key === null ? {} : { authorization: `Bearer ${key}` };
}
