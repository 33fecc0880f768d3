import { sql } from 'kysely';
import type { Db } from '../postgres/database.ts';

/** Says how many rollouts of a run could not go on, and why: the commonest reason first named, so that an empty run explains itself. Null when none. */
export async function describeFailures(db: Db, runId: string): Promise<string | null> {
  const { rows } = await sql<{ failed: number; reason: string | null }>`
    select count(*)::int as failed, reason from rollouts where run_id = ${runId} and outcome = 'failed'
    group by reason order by 1 desc, reason`.execute(db);
  const [commonest] = rows;
  if (!commonest) return null;
  const failed = rows.reduce((sum, row) => sum + row.failed, 0);
  const which = rows.length === 1 ? '' : `${commonest.failed} of them: `;
  return `${failed} ${failed === 1 ? 'rollout' : 'rollouts'} failed: ${which}${commonest.reason ?? 'no reason given'}`;
}
