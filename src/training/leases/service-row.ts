import { type RawBuilder, sql } from 'kysely';
import type { PlanRules } from '../../domain/training/planning/plan-rules.ts';
import type { Method } from '../../events/schemas/training.ts';
import type { BlobRef } from '../../events/schemas/values.ts';
import type { Db } from '../../postgres/database.ts';
import { projectOf } from '../../projections/owners/read-owners.ts';
import type { Numbering } from '../outbox/encode-events.ts';
import type { Head, PlannedBatch } from './protocol.ts';

/** A policy's row at the lease service: its newest version, and who holds its next batch. */
export interface ServiceRow {
  readonly lineageId: string;
  readonly policyId: string;
  readonly head: Head;
  /** The checkpoint of version 0. */
  readonly firstCheckpointId: string;
  readonly nextOrdinal: number;
  /** The last fence of the batch `nextOrdinal`; 0 when it was never leased. */
  readonly fence: number;
  readonly held: LeaseOfRow | null;
}
export interface LeaseOfRow {
  readonly leaseId: string;
  readonly batchId: string;
  readonly consumer: string;
  readonly deadline: Date;
}

/** The row with a lease under the next fence. */
export function withLease(row: ServiceRow, held: LeaseOfRow): ServiceRow {
  return { ...row, fence: row.fence + 1, held };
}

/** The row once its lease is over; its batch is there to be leased again. */
export function withoutLease(row: ServiceRow): ServiceRow {
  return { ...row, held: null };
}

/** The row once its batch is over: trained, which made a version, or abandoned. */
export function behindBatch(row: ServiceRow, head: Head = row.head): ServiceRow {
  return { ...row, head, nextOrdinal: row.nextOrdinal + 1, fence: 0, held: null };
}

/** The columns of a row of `lease_desk`. */
export function columnsOf({ lineageId, policyId, head, firstCheckpointId, nextOrdinal, fence, held }: ServiceRow): object {
  return {
    lineage_id: lineageId,
    policy_id: policyId,
    first_checkpoint_id: firstCheckpointId,
    next_ordinal: nextOrdinal,
    fence,
    version: head.version,
    checkpoint_id: head.checkpointId,
    backend: head.backend,
    weights: head.weights,
    kept: head.kept,
    lease_id: held?.leaseId,
    batch_id: held?.batchId,
    consumer: held?.consumer,
    deadline: held?.deadline,
  };
}

/** A row as it was read, without a lock: what is decided from it is carried out only while it is the same. */
export interface ReadRow extends ServiceRow {
  /** Distinguishes this state of the row from all others. */
  readonly seen: string;
  /** The batch `nextOrdinal`; null while it is not planned, or its plan is not folded yet. */
  readonly next: PlannedBatch | null;
}

/** A lease that was given once. */
export interface Grant {
  readonly batchId: string;
  readonly ordinal: number;
  readonly fence: number;
}

/** What a decision is made from. */
export interface DecisionInput {
  /** The database's time, in whole milliseconds. */
  readonly now: Date;
  /** How the next event of the policy is numbered. */
  readonly numbering: Numbering;
  /** The policy's row, where it has one. */
  readonly service?: ReadRow;
  /** The lease that was asked for, as it was given. */
  readonly grant?: Grant;
}

/** Reads a policy's row. @throws LeaseStateStale. */
export function readService(db: Db, lineageId: string, producer: string): Promise<DecisionInput> {
  return read(
    db,
    sql`select ${lineageId}::uuid as lineage_id, null::uuid as batch_id, null::integer as ordinal, null::integer as fence`,
    producer,
  );
}

/** Reads the row of a lease's policy with the lease as it was given; neither of an unknown lease. @throws LeaseStateStale. */
export function readGranted(db: Db, leaseId: string, producer: string): Promise<DecisionInput> {
  return read(db, sql`select lineage_id, batch_id, ordinal, fence from lease_grants where lease_id = ${leaseId}::uuid`, producer);
}

/**
 * Reads the row of the lineage that a statement names with all that a decision needs. A database that was made again over an
 * older log numbers behind what the journal has of this producer, or its first events would look reordered.
 */
async function read(db: Db, grant: RawBuilder<unknown>, producer: string): Promise<DecisionInput> {
  const { rows } = await sql<SeenRow>`
    with g as materialized (${grant})
    select d.xmin::text as seen, d.lineage_id, d.policy_id, d.version, d.first_checkpoint_id, d.checkpoint_id, d.backend, d.weights, d.kept,
      d.next_ordinal, d.fence, d.lease_id, d.batch_id, d.consumer, d.deadline,
      g.batch_id as granted_batch_id, g.ordinal as granted_ordinal, g.fence as granted_fence,
      date_trunc('milliseconds', clock_timestamp()) as now, ${IS_SYNCED} as compared, ${PLANNED},
      coalesce(
        (select o.next_sequence from outbox_streams o where o.stream = g.lineage_id and o.producer = ${producer}),
        (select p.sequence + 1 from stream_producers p where p.stream = g.lineage_id and p.producer = ${producer}), 0) as sequence,
      ${projectOf('training', sql`g.lineage_id`)} as project
    from (select) as one left join g on true left join lease_desk d on d.lineage_id = g.lineage_id
    left join batches b on b.lineage_id = d.lineage_id and b.ordinal = d.next_ordinal
    left join lineages l on l.lineage_id = b.lineage_id`.execute(db);
  const [row] = rows;
  checkSynced(row);
  if (!row) throw new Error('the database gave no row'); // the statement always has one
  const { grantedBatchId: batchId, grantedOrdinal: ordinal, grantedFence: fence, now, sequence, project } = row;
  const service = fromRow(row);
  return {
    now,
    numbering: { sequence, project },
    ...(service && { service }),
    ...(batchId === null || ordinal === null || fence === null ? {} : { grant: { batchId, ordinal, fence } }),
  };
}

/** Returns the policies whose lease ran out, the longest ago first. */
export async function readExpired(db: Db, limit: number): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('leaseDesk')
    .select('lineageId')
    .where('leaseId', 'is not', null)
    .where('deadline', '<=', sql<Date>`clock_timestamp()`)
    .orderBy('deadline')
    .limit(limit)
    .execute();
  return rows.map(({ lineageId }) => lineageId);
}

interface SeenRow extends PlannedRow {
  /** Null where the policy has no row, as all of its columns then. */
  readonly seen: string | null;
  readonly lineageId: string;
  readonly policyId: string;
  readonly version: number;
  readonly firstCheckpointId: string;
  readonly checkpointId: string;
  readonly backend: string;
  readonly weights: string;
  readonly kept: BlobRef | null;
  readonly nextOrdinal: number;
  readonly fence: number;
  readonly leaseId: string | null;
  readonly batchId: string | null;
  readonly consumer: string | null;
  readonly deadline: Date | null;
  readonly grantedBatchId: string | null;
  readonly grantedOrdinal: number | null;
  readonly grantedFence: number | null;
  readonly now: Date;
  readonly compared: boolean | null;
  readonly sequence: number;
  readonly project: string | null;
}

function fromRow(row: SeenRow): ReadRow | undefined {
  const { seen, leaseId, batchId, consumer, deadline } = row;
  if (seen === null) return undefined;
  const held =
    leaseId === null || batchId === null || consumer === null || deadline === null
      ? null
      : { leaseId, batchId, consumer, deadline };
  const { version, checkpointId, backend, weights, kept } = row;
  return {
    seen,
    lineageId: row.lineageId,
    policyId: row.policyId,
    head: { version, checkpointId, backend, weights, kept },
    firstCheckpointId: row.firstCheckpointId,
    nextOrdinal: row.nextOrdinal,
    fence: row.fence,
    held,
    next: plannedBatch(row),
  };
}

/** The database is not the one in which the lease service was last compared with the log. */
export class LeaseStateStale extends Error {
  override readonly name = 'LeaseStateStale';
}

/**
 * Names the database of a connection. The start of the server reveals a folder that was put back and a standby that took over;
 * the other two a database that was made from a copy or a dump.
 */
export const DATABASE_NAME = sql`
  concat_ws(' ', extract(epoch from pg_postmaster_start_time()), (select oid from pg_database where datname = current_database()),
    pg_relation_filenode('lease_desk'))`;

/** What every statement of the lease service asks, with whatever else it asks; null before the first comparison. */
export const IS_SYNCED = sql<boolean | null>`(select name = ${DATABASE_NAME} from desk_database)`;

/** @throws LeaseStateStale. */
export function checkSynced(row: { readonly compared: boolean | null } | undefined): void {
  if (row?.compared !== true) throw new LeaseStateStale();
}

/** Returns whether the database is the one of the last comparison. */
export async function isSynced(db: Db): Promise<boolean> {
  const { rows } = await sql<{ compared: boolean | null }>`select ${IS_SYNCED} as compared`.execute(db);
  return rows[0]?.compared === true;
}

/** The columns of a planned batch `b` of the lineage `l`. */
const PLANNED = sql`b.batch_id as planned_batch_id, b.ordinal as planned_ordinal, b.estimator, b.rules, b.seed, b.samples, b.tokens,
  b.manifest_hash, l.trainer`;

/** All null where no batch is planned, or its plan is not folded yet. */
export interface PlannedRow {
  readonly plannedBatchId: string | null;
  readonly plannedOrdinal: number;
  readonly manifestHash: string;
  readonly estimator: Method;
  readonly rules: PlanRules;
  readonly seed: number;
  readonly samples: number;
  readonly tokens: number;
  readonly trainer: unknown;
}

function plannedBatch(row: PlannedRow): PlannedBatch | null {
  const {
    plannedBatchId: batchId,
    plannedOrdinal: ordinal,
    manifestHash,
    estimator,
    rules,
    seed,
    samples,
    tokens,
    trainer,
  } = row;
  return batchId === null ? null : { batchId, ordinal, estimator, rules, seed, samples, tokens, manifestHash, trainer };
}
