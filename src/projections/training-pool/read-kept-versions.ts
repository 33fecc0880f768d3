import type { BlobRef } from '../../events/schemas/values.ts';
import type { Db } from '../../postgres/database.ts';

/** A version of a policy and where its checkpoint is kept; null where only its digest is on record. */
export interface KeptVersion {
  readonly policyId: string;
  readonly version: number;
  readonly kept: BlobRef | null;
}

/** Reads the versions that a backend made, of all policies, by policy, the newest first. */
export async function readVersionsOfBackend(db: Db, backend: string): Promise<readonly KeptVersion[]> {
  return db
    .selectFrom('policy_versions as v')
    .innerJoin('checkpoints as c', 'c.checkpoint_id', 'v.checkpoint_id')
    .select(['v.policy_id as policyId', 'v.version', 'c.kept'])
    .where('c.backend', '=', backend)
    .orderBy('v.policy_id')
    .orderBy('v.version', 'desc')
    .execute();
}

/** Reads the versions that an evaluation, a fork or a released rollout names, each once, in no order. */
export async function readNamedVersions(db: Db): Promise<readonly Omit<KeptVersion, 'kept'>[]> {
  return db
    .selectFrom('evaluations')
    .select(['policy_id as policyId', 'policy_version as version'])
    .union(
      db
        .selectFrom('runs')
        .select(['policy_id as policyId', 'policy_version as version'])
        .where('kind', '=', 'fork')
        .where('policy_id', 'is not', null)
        .where('policy_version', 'is not', null)
        .$narrowType<{ policyId: string; version: number }>(),
    )
    .union(
      db
        .selectFrom('dataset_examples as e')
        .innerJoin('rollouts as r', (join) =>
          join.on((on) =>
            on.or([on('r.rollout_id', '=', on.ref('e.good_rollout_id')), on('r.rollout_id', '=', on.ref('e.bad_rollout_id'))]),
          ),
        )
        .select(['r.policy_id as policyId', 'r.policy_version as version']),
    )
    .execute();
}
