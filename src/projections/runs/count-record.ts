import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { ofRun } from '../journal/of-run.ts';

export interface RecordCounts {
  readonly events: number;
  readonly trees: number;
  readonly rollouts: number;
  readonly steps: number;
  readonly bytes: number;
}

/** Counts what the record holds of a run, in one statement; the roots of its trees are no steps. */
export async function countRecord(db: Db, runId: string): Promise<RecordCounts> {
  const { rows } = await sql<RecordCounts>`
    select j.events, j.bytes,
           (select count(*) from trees where run_id = ${runId})::int as trees,
           (select count(*) from rollouts where run_id = ${runId})::int as rollouts,
           (select count(*) from steps s join trees t using (tree_id) where t.run_id = ${runId} and s.depth > 0)::int as steps
    from (
      select count(*)::int as events, coalesce(sum(octet_length(body)), 0)::float8 as bytes from events e where ${ofRun('e', runId)}
    ) j`.execute(db);
  const counts = rows[0];
  if (!counts) throw new Error('a query of counts returns one row');
  return counts;
}
