import { sql } from 'kysely';
import type { Method } from '../../events/schemas/training.ts';
import type { Db } from '../../postgres/database.ts';
import type { Head } from '../leases/protocol.ts';

/** What is recorded of the update that a batch made, or would make. */
export interface BatchUpdate {
  /** How advantages were computed, as the update says; as the plan says before there is one; null if the update names none. */
  readonly method: Method | null;
  /** What was measured at the update; null before it. */
  readonly metrics: Readonly<Record<string, number>> | null;
  /** The position of its rewards; null where the trainer did not say. */
  readonly rewardsAt: string | null;
  /** How far the planner had read. */
  readonly plannedAt: string;
  /** The backend of the version that the batch is trained from; null where none is known. */
  readonly backend: string | null;
  /** What our own trainers were declared with, to be parsed; undefined where nothing is. */
  readonly settings: unknown;
  /** That version; null where its checkpoint is not on record. */
  readonly base: Head | null;
  /** The version that it made; null before there is one, and where its checkpoint is not on record. */
  readonly made: Head | null;
}

/** Reads the update of a batch, in one statement; null for a batch that is not planned. */
export async function readBatchUpdate(db: Db, batchId: string): Promise<BatchUpdate | null> {
  const { rows } = await sql<Row>`
    select b.estimator as planned, b.position, v.version, v.estimator as used, v.metrics, l.trainer,
      (select e.body::jsonb #>> '{data,rewardsAt}' from events e
       where e.stream = b.lineage_id and e.type = 'PolicyUpdated' and e.body::jsonb #>> '{data,batchId}' = b.batch_id::text limit 1) as rewards_at,
      base.version as base_version, c.checkpoint_id, c.backend, base.weights, c.kept,
      m.checkpoint_id as made_checkpoint, m.backend as made_backend, v.weights as made_weights, m.kept as made_kept
    from batches b
    left join policy_versions v on v.batch_id = b.batch_id
    left join lineages l on l.lineage_id = b.lineage_id
    left join policy_versions base on base.lineage_id = b.lineage_id and base.version = coalesce(v.parent_version, b.policy_version)
    left join checkpoints c on c.checkpoint_id = base.checkpoint_id
    left join checkpoints m on m.checkpoint_id = v.checkpoint_id
    where b.batch_id = ${batchId}::uuid`.execute(db);
  const [row] = rows;
  if (!row) return null;
  const {
    planned,
    position,
    version,
    used,
    metrics,
    trainer,
    rewardsAt,
    baseVersion,
    checkpointId,
    backend,
    weights,
    kept,
    madeCheckpoint,
    madeBackend,
    madeWeights,
    madeKept,
  } = row;
  return {
    method: version === null ? planned : used,
    metrics,
    rewardsAt,
    plannedAt: position,
    backend: backend ?? trainer?.backend ?? null,
    settings: trainer?.settings,
    base: headOf(baseVersion, checkpointId, backend, weights, kept),
    made: headOf(version, madeCheckpoint, madeBackend, madeWeights, madeKept),
  };
}

function headOf(
  version: number | null,
  checkpointId: string | null,
  backend: string | null,
  weights: string | null,
  kept: Head['kept'],
): Head | null {
  if (version === null || checkpointId === null || backend === null || weights === null) return null;
  return { version, checkpointId, backend, weights, kept };
}

interface Row {
  readonly planned: Method;
  readonly position: string;
  readonly version: number | null;
  readonly used: Method | null;
  readonly metrics: Readonly<Record<string, number>> | null;
  /** What `TrainingDeclared` passes to trainers; it may be anything. */
  readonly trainer: { readonly backend?: string; readonly settings?: unknown } | null;
  readonly rewardsAt: string | null;
  readonly baseVersion: number | null;
  readonly checkpointId: string | null;
  readonly backend: string | null;
  readonly weights: string | null;
  readonly kept: Head['kept'];
  readonly madeCheckpoint: string | null;
  readonly madeBackend: string | null;
  readonly madeWeights: string | null;
  readonly madeKept: Head['kept'];
}
