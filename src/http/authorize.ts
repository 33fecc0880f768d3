import type { ApiKey, Scope } from '../postgres/keys.ts';
import { type Reply, refuse } from './reply.ts';

/** What a route asks of a key: one of some scopes, or only that the key is active. `admin` opens every route. */
export type Needs = readonly Scope[] | 'any-key';

/** How a server knows who asks. */
export interface AuthContext {
  /** On loopback keys are optional, but one that is shown must be good. */
  readonly keys: 'optional' | 'required';
  readonly verify: (presented: string) => Promise<ApiKey | undefined>;
}

/** Decides whether a request may pass. Returns the refusal (401 without a good key, 403 without the scope) or undefined. */
export async function authorize(auth: AuthContext, header: string | undefined, needs: Needs): Promise<Reply | undefined> {
  if (header === undefined) {
    return auth.keys === 'optional' ? undefined : unauthorized('this server needs an API key');
  }
  const presented = /^Bearer +(\S+) *$/i.exec(header)?.[1];
  if (presented === undefined) return unauthorized('the Authorization header is not of the form "Bearer <key>"');
  const key = await auth.verify(presented);
  if (!key) return unauthorized('the API key is unknown or revoked');
  if (needs === 'any-key' || key.scopes.includes('admin') || needs.some((scope) => key.scopes.includes(scope))) return undefined;
  return refuse(
    403,
    `the key ${JSON.stringify(key.name)} has the scopes ${key.scopes.join(', ') || 'none'}; this needs ${needs.join(' or ')}`,
    `make one with \`espalier keys create --name NAME --scopes ${needs[0] ?? 'read'}\``,
  );
}

function unauthorized(message: string): Reply {
  return refuse(401, message, 'send Authorization: Bearer <key>; `espalier keys create --name NAME --scopes …` makes one', {
    headers: { 'www-authenticate': 'Bearer realm="espalier"' },
  });
}
