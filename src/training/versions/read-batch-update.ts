import { sql } from 'kysely';
import { decode } from '../../events/codec.ts';
import { derivedId } from '../../events/derived-id.ts';
import { identityOf } from '../../events/envelope.ts';
import type { Method } from '../../events/schemas/training.ts';
import type { BlobRef } from '../../events/schemas/values.ts';
import type { Db } from '../../postgres/database.ts';
import { readBodiesOf } from '../../projections/journal/read-bodies.ts';
import type { Head } from '../leases/protocol.ts';
import { decodeLogProbs, type LogProbs } from '../rows/jagged.ts';
import { type BlobReader, readBlob } from '../rows/read-blob.ts';

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
    left join checkpoints c on c.checkpoint_id = base.checkpoint_id and c.lineage_id = base.lineage_id
    left join checkpoints m on m.checkpoint_id = v.checkpoint_id and m.lineage_id = v.lineage_id
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

/** Reads the newest version of a policy in the read models and the checkpoint that holds it; null before its first. */
export async function newestHead(db: Db, policyId: string): Promise<Head | null> {
  const head = await heads(db, policyId).orderBy('v.version', 'desc').limit(1).executeTakeFirst();
  return head ?? null;
}

/** Reads a version of a policy and the checkpoint that holds it. @throws NoResultError where the read models have none. */
export async function readHead(db: Db, policyId: string, version: number): Promise<Head> {
  return heads(db, policyId).where('v.version', '=', version).executeTakeFirstOrThrow();
}

/** Reads a version of a policy and the checkpoint that holds it; null where the read models have none. */
export async function findHead(db: Db, policyId: string, version: number): Promise<Head | null> {
  return (await heads(db, policyId).where('v.version', '=', version).executeTakeFirst()) ?? null;
}

function heads(db: Db, policyId: string) {
  return db
    .selectFrom('policyVersions as v')
    .innerJoin('checkpoints as c', (on) =>
      on.onRef('c.checkpointId', '=', 'v.checkpointId').onRef('c.lineageId', '=', 'v.lineageId'),
    )
    .select(['v.version', 'v.checkpointId as checkpointId', 'v.weights', 'c.backend', 'c.kept'])
    .where('v.policyId', '=', policyId);
}

/** Reads what the update of a batch recorded of its sampled tokens; null where there is no update, or it recorded nothing. */
export async function readNewLogProbs(db: Db, blobs: BlobReader, batchId: string): Promise<LogProbs | null> {
  const made = await db
    .selectFrom('policyVersions')
    .select(['lineageId', 'version'])
    .where('batchId', '=', batchId)
    .executeTakeFirst();
  if (!made) return null;
  const event = { stream: made.lineageId, id: derivedId('PolicyUpdated', made.lineageId, made.version) };
  const body = (await readBodiesOf(db, [event])).get(identityOf(event));
  const reference = body === undefined ? null : referenceIn(body);
  if (reference === null) return null;
  const what = `the log-probs of version ${made.version}`;
  return decodeLogProbs(await readBlob(blobs, reference.blob, what), what);
}

/** Takes those of a step: `length` values of a sample, from a place on. Empty where the sample has fewer. */
export function ofStep({ values, borders }: LogProbs, sample: number, from: number, length: number): Float32Array {
  const [begin = 0, end = 0] = [borders[sample], borders[sample + 1]];
  return begin + from + length > end ? new Float32Array() : values.subarray(begin + from, begin + from + length);
}

function referenceIn(body: string): BlobRef | null {
  const decoded = decode(Buffer.from(body));
  return decoded.kind === 'event' && decoded.event.type === 'PolicyUpdated' ? (decoded.event.data.logProbs ?? null) : null;
}
