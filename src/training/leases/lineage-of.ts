import { sql } from 'kysely';
import { isUuid } from '../../domain/ids.ts';
import { derivedId } from '../../events/derived-id.ts';
import type { Db } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';

/** Finds the lineage of a lease that was ever given; undefined for none. */
export async function lineageOfLease(db: Db, leaseId: string): Promise<string | undefined> {
  if (!isUuid(leaseId)) return undefined;
  const rows = await rowsWhere(db, 'leaseGrants', { leaseId }, ['lineageId']);
  return rows[0]?.lineageId;
}

/** Finds the lineage of a batch that is planned; undefined for none. */
export async function lineageOfBatch(db: Db, batchId: string): Promise<string | undefined> {
  if (!isUuid(batchId)) return undefined;
  const rows = await rowsWhere(db, 'batches', { batchId }, ['lineageId']);
  return rows[0]?.lineageId;
}

/** Returns whether the lease service holds a policy, in the log or on its way there. */
export async function isAtService(db: Db, lineageId: string): Promise<boolean> {
  const { rows } = await sql`select 1 from lease_desk where lineage_id = ${lineageId}::uuid`.execute(db);
  return rows.length > 0;
}

/** Returns the stream of all versions of a policy. */
export function lineageIdOf(policyId: string): string {
  return derivedId('lineage', policyId);
}
