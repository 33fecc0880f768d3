import { sql } from 'kysely';
import { recordset } from '../../postgres/bulk.ts';
import type { Trx } from '../../postgres/database.ts';
import { LATEST_COLUMNS, type LatestRow } from './rows.ts';

/** Puts the judgements in force of rewards that stand. */
export async function writeLatest(latest: readonly LatestRow[], trx: Trx): Promise<void> {
  if (latest.length === 0) return;
  await sql`
    update rewards set value = r.value, scorer = r.scorer, scorer_revision = r.scorer_revision, revisions = r.revisions, revised_at = r.revised_at
    from ${recordset(latest, LATEST_COLUMNS)} where rewards.reward_id = r.reward_id`.execute(trx);
}
