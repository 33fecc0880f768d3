import { type RawBuilder, sql } from 'kysely';
import { groupBy } from '../../domain/group-by.ts';
import { manifestHashOf } from '../../events/manifest-hash.ts';
import type { Trx } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import type { BatchRecord, HistoryRecord, LeaseRecord, RejectionRecord, SampleRecord, UpdateRecord } from './batch-history.ts';

const BATCHES = 20; // of a fetch: a batch has up to some thousand samples, each a row of about 300 bytes
const REJECTIONS = 2_000;

/**
 * Streams the whole history of batches: policy by policy every batch in its order, with its samples, its leases and the version
 * that resulted from it; then every sample that was rejected. @param policies null takes all.
 */
export async function* readBatchHistory(trx: Trx, policies: readonly string[] | null): AsyncGenerator<HistoryRecord> {
  let before: BatchRecord | undefined;
  for await (const rows of fetchAll<BatchRow>(trx, 'batch_history', selectBatches(policies), BATCHES)) {
    const ids = rows.map(({ batchId }) => batchId);
    const samples = groupBy(await readSamples(trx, ids), batchOf, withoutBatch);
    const leases = groupBy(await readLeases(trx, ids), batchOf, withoutBatch);
    for (const row of rows) {
      const earlier = before?.lineageId === row.lineageId ? before : undefined;
      before = toBatch(row, samples.get(row.batchId) ?? [], leases.get(row.batchId) ?? [], earlier);
      yield before;
    }
  }
  const rejections = fetchAll<Omit<RejectionRecord, 'kind'>>(trx, 'rejection_history', selectRejections(policies), REJECTIONS);
  for await (const rows of rejections) for (const row of rows) yield { kind: 'rejected', ...row };
}

/** What the read model counts of the history of batches. */
export interface BatchHistoryCounts {
  readonly batches: number;
  /** By the plans of the batches. */
  readonly samples: number;
  readonly trained: number;
  readonly rejected: number;
}

/** Counts the history of batches from what each table says of itself: a join would pass over what the other one lacks. */
export async function countBatchHistory(trx: Trx, policies: readonly string[] | null): Promise<BatchHistoryCounts> {
  const { rows } = await sql<BatchHistoryCounts>`
    select count(*) as batches, coalesce(sum(b.samples), 0)::bigint as samples,
      (select count(*) from batch_acks a left join batches b on b.batch_id = a.batch_id
       where ${ofPolicies(sql`b.policy_id`, policies)}) as trained,
      (select count(*) from sample_rejections where ${ofPolicies(sql`policy_id`, policies)}) as rejected
    from batches b where ${ofPolicies(sql`b.policy_id`, policies)}`.execute(trx);
  return rows[0] ?? { batches: 0, samples: 0, trained: 0, rejected: 0 };
}

type BatchRow = Omit<BatchRecord, 'kind' | 'chained' | 'samples' | 'leases' | 'update'> & {
  readonly update: (Omit<UpdateRecord, 'ackedAt'> & { readonly ackedAt: string }) | null;
};
type OfBatch<T> = T & { readonly batchId: string };

function selectBatches(policies: readonly string[] | null): RawBuilder<unknown> {
  return sql`
    select b.policy_id, b.lineage_id, b.batch_id, b.ordinal, b.policy_version, b.estimator, b.rules, b.seed, b.position, b.tokens, b.shards,
           b.previous_hash, b.manifest_hash, b.planned_at,
           case when a.batch_id is not null then jsonb_build_object(
             'leaseId', a.lease_id, 'ackedAt', a.acked_at, 'version', a.version, 'checkpointId', a.checkpoint_id,
             'parentVersion', v.parent_version, 'weights', v.weights, 'loss', v.loss, 'metrics', v.metrics) end as update
    from batches b
    left join batch_acks a using (batch_id)
    left join policy_versions v on v.lineage_id = b.lineage_id and v.version = a.version
    where ${ofPolicies(sql`b.policy_id`, policies)}
    order by b.policy_id collate "C", b.ordinal`;
}

function selectRejections(policies: readonly string[] | null): RawBuilder<unknown> {
  return sql`
    select policy_id, lineage_id, rollout_id, tree_id, reason, rule, measured, rejected_at
    from sample_rejections where ${ofPolicies(sql`policy_id`, policies)}
    order by policy_id collate "C", tree_id, rollout_id`;
}

function ofPolicies(column: RawBuilder<unknown>, policies: readonly string[] | null): RawBuilder<unknown> {
  return policies === null ? sql`true` : sql`${column} = any(${[...policies]}::text[])`;
}

async function readSamples(trx: Trx, ids: readonly string[]): Promise<readonly OfBatch<SampleRecord>[]> {
  const { rows } = await sql<OfBatch<SampleRecord>>`
    select b.batch_id, b.rollout_id, b.tree_id, b.group_ordinal, b.place, s.outcome, s.success, s.oldest_version, s.newest_version,
           s.sampled_tokens, coalesce(s.scores, '{}') as scores
    from batch_samples b left join samples s using (rollout_id, tree_id)
    where b.batch_id = any(${[...ids]}::uuid[]) order by b.batch_id, b.place`.execute(trx);
  return rows;
}

async function readLeases(trx: Trx, ids: readonly string[]): Promise<readonly OfBatch<LeaseRecord>[]> {
  const rows = await rowsWhere(
    trx,
    'leases',
    { batchId: ids },
    ['batchId', 'leaseId', 'fence', 'consumer', 'leasedAt', 'deadline', 'endedAt', 'endedBy', 'endReason'],
    ['batchId', 'fence'],
  );
  return rows;
}

function toBatch(
  row: BatchRow,
  samples: readonly SampleRecord[],
  leases: readonly LeaseRecord[],
  earlier: BatchRecord | undefined,
): BatchRecord {
  return {
    kind: 'batch',
    ...row,
    chained: hashOf(row, samples) === row.manifestHash && row.previousHash === (earlier?.manifestHash ?? null),
    samples,
    leases,
    update: row.update && updateOf(row.update),
  };
}

/** Puts the parts of an update in the order that they have in files. */
function updateOf(update: NonNullable<BatchRow['update']>): UpdateRecord {
  const { loss, metrics, version, weights, ackedAt, leaseId, checkpointId, parentVersion } = update;
  return { loss, metrics, version, weights, ackedAt: new Date(ackedAt), leaseId, checkpointId, parentVersion };
}

/** Hashes the plan as it is in the tables: equal to the hash that was appended with it, or one of the two was changed. */
function hashOf(row: BatchRow, samples: readonly SampleRecord[]): string {
  const groups: { readonly treeId: string; readonly rolloutIds: string[] }[] = [];
  for (const { groupOrdinal, treeId, rolloutId } of samples) {
    groups[groupOrdinal] ??= { treeId, rolloutIds: [] };
    groups[groupOrdinal]?.rolloutIds.push(rolloutId);
  }
  return manifestHashOf({
    lineageId: row.lineageId,
    policyId: row.policyId,
    batchId: row.batchId,
    ordinal: row.ordinal,
    seed: row.seed,
    policyVersion: row.policyVersion,
    estimator: row.estimator,
    rules: row.rules as BatchRules,
    position: row.position,
    groups,
    samples: samples.length,
    tokens: row.tokens,
    shards: row.shards.map((shard) => [...shard]),
    previousHash: row.previousHash,
  });
}
type BatchRules = Parameters<typeof manifestHashOf>[0]['rules']; // the event's own, kept as JSON

/** Fetches a statement's rows in parts through a server-side cursor: Postgres sorts once, and this process holds one part. */
async function* fetchAll<Row>(trx: Trx, name: string, select: RawBuilder<unknown>, size: number): AsyncGenerator<readonly Row[]> {
  await sql`declare ${sql.ref(name)} no scroll cursor for ${select}`.execute(trx);
  for (;;) {
    const { rows } = await sql<Row>`fetch forward ${sql.raw(String(size))} from ${sql.ref(name)}`.execute(trx);
    if (rows.length > 0) yield rows;
    if (rows.length < size) break;
  }
  await sql`close ${sql.ref(name)}`.execute(trx);
}

const batchOf = ({ batchId }: { readonly batchId: string }) => batchId;
const withoutBatch = <Row extends { readonly batchId: string }>({ batchId: _, ...rest }: Row) => rest;
