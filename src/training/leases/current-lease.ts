import { sql } from 'kysely';
import { isUuid } from '../../domain/ids.ts';
import type { Db } from '../../postgres/database.ts';
import { invalid } from './check-request.ts';
import type { Refused } from './protocol.ts';
import { staleFence, unknownLease } from './refusals.ts';

export interface CurrentLease {
  readonly kind: 'current';
  readonly batchId: string;
}

/** Finds the batch of a lease that holds now, without taking a lock: who reads rows decides nothing. */
export async function findCurrentLease(db: Db, leaseId: string): Promise<CurrentLease | Refused> {
  if (!isUuid(leaseId)) return invalid('leaseId', 'must be a UUID in lower case');
  const { rows } = await sql<{ batchId: string; current: boolean }>`
    select g.batch_id, coalesce(d.lease_id = g.lease_id and d.deadline > clock_timestamp(), false) as current
    from lease_grants g join lease_desk d on d.lineage_id = g.lineage_id where g.lease_id = ${leaseId}::uuid`.execute(db);
  const [row] = rows;
  if (!row) return unknownLease(leaseId);
  return row.current ? { kind: 'current', batchId: row.batchId } : staleFence(`lease ${leaseId} is over`);
}

/** Finds the batch that is planned behind that of a lease. */
export async function findBatchBehind(db: Db, leaseId: string): Promise<string | undefined> {
  const { rows } = await sql<{ batchId: string }>`
    select b.batch_id from lease_grants g join batches b on b.lineage_id = g.lineage_id and b.ordinal = g.ordinal + 1
    where g.lease_id = ${leaseId}::uuid`.execute(db);
  return rows[0]?.batchId;
}
