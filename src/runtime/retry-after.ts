/**
 * The statuses by which a server says nothing of the request and that the same one may succeed later: time-out, too early, too
 * many requests, and faults of its own. What a server does not implement (501, 505) it does not do later either.
 */
export function isPassingStatus(status: number): boolean {
  return [408, 425, 429].includes(status) || (status >= 500 && status !== 501 && status !== 505);
}

/**
 * The longest pause that is waited at a server's word, in ms: a longer one would look like a hang, so it ends the attempts and is
 * named.
 */
export const LONGEST_PAUSE_MS = 120_000;

/**
 * Reads how long a server asks to be left alone, in ms: `Retry-After-Ms`, or `Retry-After` in seconds or as an HTTP date; null
 * when it does not say.
 * @param now in ms since 1970, what a date is compared with.
 */
export function retryAfterMs(header: (name: string) => string | null | undefined, now: number): number | null {
  const exact = Number.parseFloat(header('retry-after-ms') ?? '');
  if (exact >= 0) return exact;
  const text = header('retry-after')?.trim();
  if (!text) return null;
  if (/^[0-9]+(\.[0-9]+)?$/.test(text)) return Number(text) * 1_000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}
