import { trainingChannel } from '../../events/schemas/training.ts';
import type { Db } from '../../postgres/database.ts';
import type { Principal } from '../../postgres/principal.ts';
import { readOwners } from '../../projections/owners/read-owners.ts';
import { lineageIdOf } from '../../training/leases/lineage-of.ts';
import type { Problem } from '../reply.ts';
import type { Sent } from './check-events.ts';

/** Finds runs that would feed the training of a policy which belongs to another project: its batches are made of its own runs. */
export async function foreignPolicies(
  events: readonly Sent[],
  { keyId, project }: Principal,
  db: Db,
): Promise<readonly Problem[]> {
  if (keyId === null) return [];
  const feeding = events.flatMap(({ index, event }) => {
    if (event.type !== 'RunStarted') return [];
    const named = trainingChannel.safeParse((event.data.config as { training?: unknown } | null)?.training); // any JSON
    return named.success ? [{ index, id: event.id, policyId: named.data.policyId }] : [];
  });
  const owners = await readOwners(
    db,
    'training',
    feeding.map(({ policyId }) => lineageIdOf(policyId)),
  );
  return feeding.flatMap(({ index, id, policyId }) => {
    const owner = owners.get(lineageIdOf(policyId));
    if (owner === undefined || owner.project === project) return [];
    return [
      {
        index,
        id,
        path: 'data.config.training.policyId',
        message: `the policy name ${JSON.stringify(policyId)} is taken by another project`,
        remedy: 'name a policy of the project that the key writes, or leave training out',
      },
    ];
  });
}
