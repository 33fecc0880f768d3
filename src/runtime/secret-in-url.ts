import { secretNameOf } from './named-secret.ts';

/**
 * Returns the part of an address that is a secret, in words; null when none is known to be one. An address is recorded with the
 * plan of a run for good: its reader refuses such a part. One that is given by name (`https://secret:NAME@host`,
 * `?api_key=secret:NAME`) is none.
 */
export function secretInUrl(url: string): string | null {
  const user = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)@/i.exec(url)?.[1];
  if (user !== undefined && secretNameOf(user) === null) return 'a user name or a password';
  const query = /\?([^#]*)/.exec(url)?.[1] ?? '';
  for (const pair of query.split('&')) {
    const [name = '', value = ''] = pair.split('=', 2);
    if (SECRETS.has(name.toLowerCase().replace(/[^a-z0-9]/g, '')) && secretNameOf(decoded(value)) === null)
      return `the parameter ${name}`;
  }
  return null;
}

const SECRETS: ReadonlySet<string> = new Set(
  'accesskey accesstoken apikey auth authorization bearer clientsecret credential key passwd password pwd secret sig signature token'.split(
    ' ',
  ),
);

/** What to do instead, for messages. */
export const SECRET_REMEDY =
  'addresses are recorded for good; give the secret by name, https://secret:NAME@host or ?key=secret:NAME, and its value as ESPALIER_SECRET_NAME or in the file secrets/NAME of ESPALIER_HOME';

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
