import type { Db } from '../../postgres/database.ts';
import { readKeysOfPrincipals } from '../../postgres/keys.ts';
import { localPrincipal, may, owns, type Principal, principalOf } from '../../postgres/principal.ts';

/** Who sent something, and the project that it was sent for, as its event is stamped. */
export interface Sender {
  readonly principal: string;
  readonly project: string;
}

/**
 * Returns who senders are, in the project that each sent for: a key may do what its record says, also one that has expired since.
 * One that this database does not know may continue with what is its own.
 */
export async function readSenders(db: Db, senders: readonly Sender[]): Promise<(sender: Sender) => Principal> {
  const keys = await readKeysOfPrincipals(db, [...new Set(senders.map(({ principal }) => principal))]);
  return ({ principal, project }) => {
    if (principal === 'local') return localPrincipal(project);
    const key = keys.get(principal);
    if (key) return { ...principalOf(key), project };
    const unknown = principal as `key:${string}`; // a principal that is not local is a key
    return { principal: unknown, projects: [project], project, scopes: ['ingest'], keyId: principal, name: principal };
  };
}

/** Whether what a sender says of a run counts, whose holder opened it or is about to. */
export function isHeard(sender: Principal, holder: Sender & Pick<Principal, 'replaces'>): boolean {
  if (sender.keyId === null) return true;
  if (sender.project !== holder.project) return false;
  return owns(sender, holder.principal) || (holder.replaces ?? []).includes(sender.principal) || may(sender, 'admin');
}
