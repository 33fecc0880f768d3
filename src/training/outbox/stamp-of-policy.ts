import type { Stamp } from '../../events/envelope.ts';
import type { Db } from '../../postgres/database.ts';
import { readOwners } from '../../projections/owners/read-owners.ts';

/**
 * Returns the stamp of an event about a policy: it belongs to the project of the policy, whichever project the process that
 * decides works for. A policy that nobody has opened on record yet is opened by this event, for the project of the stamp.
 */
export async function stampOfPolicy(db: Db, lineageId: string, stamp: Stamp): Promise<Stamp> {
  const owner = (await readOwners(db, 'training', [lineageId])).get(lineageId);
  return owner ? { ...stamp, project: owner.project } : stamp;
}
