import { readSecret, SecretUnusable, secretNameOf } from './named-secret.ts';

/** Where a request goes, and what it carries. */
export interface SendAddress {
  /** Without user info, which `fetch` refuses. */
  readonly url: URL;
  /** `authorization`, where the address names a key. */
  readonly headers: Readonly<Record<string, string>>;
  /** Replaces secrets by their names in what a server said, or in the reason why it was not reached. */
  readonly hide: (text: string) => string;
}

const SHORTEST_HIDDEN = 8; // characters; a shorter text is in too many words to be replaced

/** Returns whether a text is an http address, or names one: `secret:NAME`. */
export function isHttpAddress(text: string): boolean {
  if (secretNameOf(text) !== null) return true;
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

/**
 * Resolves the secrets that an address names. `https://secret:NAME@host` sends the secret as a bearer key, or as the whole header
 * where it has a blank (`Basic …`); a parameter `secret:NAME` is replaced by it; `secret:NAME`, with what was appended to it as a
 * path, is an address that is a secret as a whole. Other addresses stay as they are. What is shown and recorded is the address
 * that names them. @param key of the server, in place of one in the address; a secret or the name of one.
 * @throws SecretUnusable.
 */
export function sendAddress(shown: URL, key?: string): SendAddress {
  const hidden = new Map<string, string>(); // by what is replaced
  const { url, authorization } = withoutUser(shown.protocol === 'secret:' ? wholeAddress(shown, hidden) : shown, hidden);
  for (const [parameter, value] of [...url.searchParams]) {
    const name = secretNameOf(value);
    if (name !== null) url.searchParams.set(parameter, secret(name, hidden));
  }
  return sending(url, key === undefined ? authorization : bearer(keyOf(key, hidden)), hidden);
}

function sending(url: URL, authorization: string | null, hidden: ReadonlyMap<string, string>): SendAddress {
  const replaced = [...hidden].sort(([a], [b]) => b.length - a.length); // a part of another one comes after it
  return {
    url,
    headers: authorization === null ? {} : { authorization },
    hide: (text) => replaced.reduce((rest, [value, name]) => rest.replaceAll(value, name), text),
  };
}

/** Takes the key out of the user info of an address; any other user is sent as HTTP sends it. */
function withoutUser(given: URL, hidden: Map<string, string>) {
  const url = new URL(given);
  const { username, password } = url;
  url.username = '';
  url.password = '';
  if (username === '' && password === '') return { url, authorization: null };
  const name = secretNameOf(`${username}:${password}`);
  if (name !== null) return { url, authorization: bearer(secret(name, hidden)) };
  const basic = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64');
  return { url, authorization: `Basic ${basic}` };
}

function wholeAddress({ pathname, search }: URL, hidden: Map<string, string>): URL {
  const [, name = '', path = ''] = /^([A-Z0-9_]*)(.*)$/s.exec(pathname) ?? [];
  const value = secret(name, hidden);
  if (!URL.canParse(value) || !/^https?:$/.test(new URL(value).protocol))
    throw new SecretUnusable(name, 'stands for an address and is no http URL', 'replace it by one');
  const url = new URL(value);
  const places = [url.host, url.hostname].filter((place) => /[.:]/.test(place)); // no secret is localhost
  const basic = Buffer.from(`${url.username}:${url.password}`).toString('base64');
  for (const part of [url.password, url.username, basic, url.origin, ...places, ...url.searchParams.values()])
    hide(part, name, hidden);
  url.pathname = `${url.pathname.replace(/\/+$/, '')}${path}`;
  if (search !== '') url.search = url.search === '' ? search : `${url.search}&${search.slice(1)}`;
  return url;
}

function keyOf(key: string, hidden: Map<string, string>): string {
  const name = secretNameOf(key);
  if (name !== null) return secret(name, hidden);
  if (key.length >= SHORTEST_HIDDEN) hidden.set(key, '[key]');
  return key;
}

function secret(name: string, hidden: Map<string, string>): string {
  const value = readSecret(name);
  hide(value, name, hidden);
  for (const part of value.split(' ')) hide(part, name, hidden);
  return value;
}

function hide(value: string, name: string, hidden: Map<string, string>): void {
  if (value.length < SHORTEST_HIDDEN) return;
  for (const form of [value, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)]) hidden.set(form, `secret:${name}`);
}

function bearer(key: string): string {
  return key.includes(' ') ? key : `Bearer ${key}`;
}
