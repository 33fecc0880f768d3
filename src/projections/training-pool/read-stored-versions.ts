import type { BlobRef } from '../../events/schemas/values.ts';
import type { Db } from '../../postgres/database.ts';

/** A version of a policy and where its checkpoint is kept; null where only its digest is on record. */
export interface StoredVersion {
  readonly policyId: string;
  readonly version: number;
  readonly kept: BlobRef | null;
}

/** Reads the versions that a backend made, of all policies, by policy, the newest first. */
export async function readVersionsOfBackend(db: Db, backend: string): Promise<readonly StoredVersion[]> {
  return db
    .selectFrom('policyVersions as v')
    .innerJoin('checkpoints as c', (on) =>
      on.onRef('c.checkpointId', '=', 'v.checkpointId').onRef('c.lineageId', '=', 'v.lineageId'),
    )
    .select(['v.policyId as policyId', 'v.version', 'c.kept'])
    .where('c.backend', '=', backend)
    .orderBy('v.policyId')
    .orderBy('v.version', 'desc')
    .execute();
}

/** Reads the versions that an evaluation, a fork or a released rollout names, each once, in no order. */
export async function readNamedVersions(db: Db): Promise<readonly Omit<StoredVersion, 'kept'>[]> {
  return db
    .selectFrom('evaluations')
    .select(['policyId as policyId', 'policyVersion as version'])
    .union(
      db
        .selectFrom('runs')
        .select(['policyId as policyId', 'policyVersion as version'])
        .where('kind', '=', 'fork')
        .where('policyId', 'is not', null)
        .where('policyVersion', 'is not', null)
        .$narrowType<{ policyId: string; version: number }>(),
    )
    .union(
      db
        .selectFrom('datasetExamples as e')
        .innerJoin('rollouts as r', (join) =>
          join
            .onRef('r.treeId', '=', 'e.treeId')
            .on((on) =>
              on.or([on('r.rolloutId', '=', on.ref('e.goodRolloutId')), on('r.rolloutId', '=', on.ref('e.badRolloutId'))]),
            ),
        )
        .select(['r.policyId as policyId', 'r.policyVersion as version']),
    )
    .execute();
}
