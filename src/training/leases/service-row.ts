import { sql } from 'kysely';
import type { BlobRef } from '../../events/schemas/values.ts';
import type { Trx } from '../../postgres/database.ts';
import type { Head } from './protocol.ts';

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

/** Locks a policy's row until the end of the transaction. */
export async function lockService(trx: Trx, lineageId: string): Promise<ServiceRow | undefined> {
  const { rows } = await sql<Row>`${COLUMNS} from lease_desk where lineage_id = ${lineageId}::uuid for update`.execute(trx);
  return rows[0] && fromRow(rows[0]);
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
  const { rows } = await sql<{ now: Date }>`select date_trunc('milliseconds', clock_timestamp()) as now`.execute(trx);
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
