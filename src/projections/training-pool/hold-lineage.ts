import { sql } from 'kysely';
import type { Trx } from '../../postgres/database.ts';

/**
 * Holds a lineage as its only planner until the end of the transaction, or of its connection; false when another one holds it.
 */
export async function holdLineage(lock: Trx, policyId: string): Promise<boolean> {
  const { rows } = await sql<{ held: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended(${`espalier batcher ${policyId}`}, 0)) as held`.execute(lock);
  return rows[0]?.held === true;
}
