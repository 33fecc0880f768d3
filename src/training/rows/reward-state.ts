import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** Returns a text that changes whenever a reward of a batch's groups is assigned or revised: both are only ever counted up. */
export async function readRewardState(db: Db, batchId: string): Promise<string> {
  const { rows } = await sql<{ state: string }>`
    select concat(count(*), ' ', coalesce(sum(r.revisions), 0)) as state
    from (select distinct tree_id from batch_samples where batch_id = ${batchId}::uuid) g join rewards r on r.tree_id = g.tree_id`.execute(
    db,
  );
  return rows[0]?.state ?? '';
}
