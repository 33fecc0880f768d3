/** Which server of several is wanted, as libpq has it (https://www.postgresql.org/docs/current/libpq-connect.html). */
export const SESSION_ATTRS = ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'] as const;
export type SessionAttrs = (typeof SESSION_ATTRS)[number];

const AUTHORITY = /^(postgres(?:ql)?:\/\/)(?:([^/?#]*)@)?([^/?#]*)(.*)$/is;

/** Returns an address for each server of one. @throws RangeError. */
export function splitHosts(url: string): readonly string[] {
  const [, scheme, user, authority, rest] = AUTHORITY.exec(url) ?? [];
  if (scheme === undefined || authority === undefined || rest === undefined)
    throw new RangeError('must be a URL that begins with postgres:// or postgresql://');
  const before = user === undefined ? scheme : `${scheme}${user}@`;
  const urls = authority.split(',').map((host) => `${before}${host}${rest}`);
  if (authority.includes(',') && authority.split(',').some((host) => host === '')) throw new RangeError('names an empty host');
  const bad = urls.find((each) => !URL.canParse(each));
  if (bad !== undefined) throw new RangeError('has a host or port that cannot be read');
  return urls;
}

/** Returns which server of an address is wanted. @throws RangeError. */
export function sessionAttrsOf(url: string): SessionAttrs {
  const given = new URL(splitHosts(url)[0] as string).searchParams.get('target_session_attrs') ?? 'any';
  const attrs = SESSION_ATTRS.find((each) => each === given);
  if (attrs === undefined) throw new RangeError(`has target_session_attrs other than ${SESSION_ATTRS.join(', ')}`);
  return attrs;
}

/** Returns what is wrong with an address, as the end of a sentence about it; null where nothing is. */
export function faultOfAddress(url: string): string | null {
  try {
    sessionAttrsOf(url);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
