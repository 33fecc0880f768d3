import type { IncomingHttpHeaders } from 'node:http';
import type { ApiKey, Scope } from '../postgres/keys.ts';
import { localPrincipal, may, type Principal, principalOf, writing } from '../postgres/principal.ts';
import type { LocalAccess } from './local-access.ts';
import { type Reply, refuse } from './reply.ts';

/**
 * What a route asks of a key: one of some scopes, only that the key is active, or none at all. `admin` opens every route.
 */
export type Needs = readonly Scope[] | 'any-key' | 'nothing';

/** How a server knows who asks. */
export interface AuthContext {
  /** On loopback keys are optional where `local` lets in without one, but one that is shown must be good. */
  readonly keys: 'optional' | 'required';
  /** How a server on loopback knows who works on this machine; without it, by nothing but the address (in tests). */
  readonly local?: LocalAccess;
  readonly verify: (presented: string) => Promise<ApiKey | undefined>;
  /** The project that who shows no key writes; `default` unless given. */
  readonly project?: string;
}

/** Who asks, where a request may pass; of one that may not the refusal. */
export type Authorized =
  | { readonly kind: 'principal'; readonly principal: Principal; readonly key: ApiKey | null }
  | { readonly kind: 'refused'; readonly reply: Reply };

/** The request header that names the project which a request writes. */
export const PROJECT_HEADER = 'espalier-project';

/**
 * Decides whether a request may pass, and returns who asks. It is refused with 401 without a good key, and with 403 without the
 * scope or for a project that is none of the key's.
 */
export async function authorize(auth: AuthContext, headers: IncomingHttpHeaders, needs: Needs): Promise<Authorized> {
  const { authorization } = headers;
  const local = auth.keys === 'optional' ? auth.local : undefined;
  if (authorization === undefined) {
    if (needs === 'nothing') return { kind: 'principal', principal: NOBODY, key: null };
    if (auth.keys === 'required') return unauthorized('this server needs an API key');
    if (local && !local.hasCookie(headers)) return unauthorized('this server needs the token of the installation, or an API key');
    return chosen(localPrincipal(auth.project), headers, null);
  }
  const presented = /^Bearer +(\S+) *$/i.exec(authorization)?.[1];
  if (presented === undefined) return unauthorized('the Authorization header is not of the form "Bearer <key>"');
  if (local?.isToken(presented)) return chosen(localPrincipal(auth.project), headers, null);
  const key = await auth.verify(presented);
  if (!key) return unauthorized('the API key is unknown, expired or revoked');
  const principal = principalOf(key);
  if (needs === 'any-key' || needs === 'nothing' || needs.some((scope) => may(principal, scope)))
    return chosen(principal, headers, key);
  return forbidden(
    `the key ${JSON.stringify(key.name)} has the scopes ${key.scopes.join(', ') || 'none'}; this needs ${needs.join(' or ')}`,
    `make one with \`espalier keys create --name NAME --scopes ${needs[0] ?? 'read'}\``,
  );
}

/** Lets a request write the project that it names. */
function chosen(principal: Principal, headers: IncomingHttpHeaders, key: ApiKey | null): Authorized {
  const named = headers[PROJECT_HEADER];
  if (named === undefined) return { kind: 'principal', principal, key };
  const as = writing(principal, String(named));
  if (as) return { kind: 'principal', principal: as, key };
  const theirs = principal.projects === 'all' ? 'every project' : `the projects ${principal.projects.join(', ')}`;
  return forbidden(
    `${PROJECT_HEADER} names ${JSON.stringify(String(named).slice(0, 100))}; the key ${JSON.stringify(principal.name)} has ${theirs}`,
    'name one of those, in lower-case letters, digits and dashes, or leave the header out',
  );
}

function forbidden(message: string, remedy: string): Authorized {
  return { kind: 'refused', reply: refuse(403, message, remedy) };
}

/** Who asks for what needs nothing. */
const NOBODY: Principal = { ...localPrincipal(), projects: [], scopes: [], name: 'nobody' };

function unauthorized(message: string): Authorized {
  const remedy =
    'send Authorization: Bearer KEY; `espalier keys create --name NAME --scopes …` makes a key, `espalier token` prints the token of this machine, and `espalier token --link` a link for a browser';
  return {
    kind: 'refused',
    reply: refuse(401, message, remedy, { headers: { 'www-authenticate': 'Bearer realm="espalier"' } }),
  };
}
