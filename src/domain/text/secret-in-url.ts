/**
 * Returns the part of an address that is a secret, in words; null when none is known to be one. An address is recorded with the
 * plan of a run for good: its reader refuses such a part.
 */
export function secretInUrl(url: string): string | null {
  if (/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*@/i.test(url)) return 'a user name or a password';
  const query = /\?([^#]*)/.exec(url)?.[1] ?? '';
  for (const pair of query.split('&')) {
    const name = pair.split('=', 1)[0] ?? '';
    if (SECRETS.has(name.toLowerCase().replace(/[^a-z0-9]/g, ''))) return `the parameter ${name}`;
  }
  return null;
}

const SECRETS: ReadonlySet<string> = new Set(
  'accesskey accesstoken apikey auth authorization bearer clientsecret credential key passwd password pwd secret sig signature token'.split(
    ' ',
  ),
);

/** What to do instead, for messages. */
export const SECRET_REMEDY = 'addresses are recorded for good; leave it out';
