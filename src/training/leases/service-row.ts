import { type RawBuilder, sql } from 'kysely';
import type { BlobRef } from '../../events/schemas/values.ts';
import type { Trx } from '../../postgres/database.ts';
import { COMPARED, checkCompared } from './compared.ts';
import { PLANNED, type PlannedRow, plannedBatch } from './planned-batch.ts';
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
  readonly held: Held | null;
}
export interface Held {
  readonly leaseId: string;
  readonly batchId: string;
  readonly consumer: string;
  readonly deadline: Date;
}

/** A row as it is behind its lock. */
export interface LockedRow extends ServiceRow {
  /** The database's time once the row was locked, in whole milliseconds. */
  readonly now: Date;
  /** The batch `nextOrdinal`; null while it is not planned, or its plan is not folded yet. */
  readonly next: PlannedBatch | null;
}

/** A lease that was given once. */
export interface Grant {
  readonly batchId: string;
  readonly ordinal: number;
  readonly fence: number;
}

/** Locks a policy's row until the end of the transaction. @throws NotCompared. */
export async function lockService(trx: Trx, lineageId: string): Promise<LockedRow | undefined> {
  return (
    await lock(
      trx,
      sql`select ${lineageId}::uuid as lineage_id, null::uuid as batch_id, null::integer as ordinal, null::integer as fence`,
    )
  ).service;
}

/**
 * Locks the row of a lease's policy, and returns it with the lease as it was given; neither of an unknown lease.
 * @throws NotCompared.
 */
export async function lockGranted(trx: Trx, leaseId: string): Promise<{ readonly service?: LockedRow; readonly grant?: Grant }> {
  return lock(trx, sql`select lineage_id, batch_id, ordinal, fence from lease_grants where lease_id = ${leaseId}::uuid`);
}

/**
 * Locks the row of the lineage that a statement names. All that a decision needs comes with the lock: the clock is read behind
 * it, since an answer from before could be old by as long as the wait.
 */
async function lock(trx: Trx, grant: RawBuilder<unknown>): Promise<{ readonly service?: LockedRow; readonly grant?: Grant }> {
  const { rows } = await sql<LockRow>`
    with g as materialized (${grant}),
    d as materialized (${COLUMNS} from lease_desk where lineage_id = (select lineage_id from g) for update)
    select d.*, g.batch_id as granted_batch_id, g.ordinal as granted_ordinal, g.fence as granted_fence,
      case when d.lineage_id is not null then ${CLOCK} end as now, ${PLANNED}, ${COMPARED}
    from (select) as one left join g on true left join d on true
    left join batches b on b.lineage_id = d.lineage_id and b.ordinal = d.next_ordinal
    left join lineages l on l.lineage_id = b.lineage_id`.execute(trx);
  const [row] = rows;
  checkCompared(row);
  if (!row || row.lineageId === null || row.now === null) return {};
  const { grantedBatchId: batchId, grantedOrdinal: ordinal, grantedFence: fence, now } = row;
  return {
    service: { ...fromRow(row), now, next: plannedBatch(row) },
    ...(batchId === null || ordinal === null || fence === null ? {} : { grant: { batchId, ordinal, fence } }),
  };
}

/** Locks the rows whose lease ran out and that nobody else has locked. */
export async function lockExpired(trx: Trx, limit: number): Promise<readonly ServiceRow[]> {
  const { rows } = await sql<Row>`
    ${COLUMNS} from lease_desk where lease_id is not null and deadline <= clock_timestamp()
    order by deadline limit ${limit} for update skip locked`.execute(trx);
  return rows.map(fromRow);
}

/**
 * Returns the database's time, in whole milliseconds. Asked after the lock: before it, the answer could be old by as long as the
 * wait.
 */
export async function readClock(trx: Trx): Promise<Date> {
  const { rows } = await sql<{ now: Date }>`select ${CLOCK} as now`.execute(trx);
  const now = rows[0]?.now;
  if (!now) throw new Error('the database gave no time');
  return now;
}

/** Takes the lease off a row; its batch is there to be leased again. */
export async function dropLease(trx: Trx, lineageId: string): Promise<void> {
  await sql`
    update lease_desk set lease_id = null, batch_id = null, consumer = null, deadline = null where lineage_id = ${lineageId}::uuid`.execute(
    trx,
  );
}

const CLOCK = sql`date_trunc('milliseconds', clock_timestamp())`;
const COLUMNS = sql`select lineage_id, policy_id, version, first_checkpoint_id, checkpoint_id, backend, weights, kept, next_ordinal, fence, lease_id, batch_id,
  consumer, deadline`;

interface Row {
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
}

interface LockRow extends Row, PlannedRow {
  readonly grantedBatchId: string | null;
  readonly grantedOrdinal: number | null;
  readonly grantedFence: number | null;
  /** Null where no row was locked. */
  readonly now: Date | null;
  readonly compared: boolean | null;
}

function fromRow(row: Row): ServiceRow {
  const { leaseId, batchId, consumer, deadline } = row;
  const held =
    leaseId === null || batchId === null || consumer === null || deadline === null
      ? null
      : { leaseId, batchId, consumer, deadline };
  return {
    lineageId: row.lineageId,
    policyId: row.policyId,
    head: {
      version: row.version,
      checkpointId: row.checkpointId,
      backend: row.backend,
      weights: row.weights,
      kept: row.kept,
    },
    firstCheckpointId: row.firstCheckpointId,
    nextOrdinal: row.nextOrdinal,
    fence: row.fence,
    held,
  };
}
