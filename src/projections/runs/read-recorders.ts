import { type Selectable, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { wholeRowsWhere } from '../../postgres/rows-where.ts';
import type { Tables } from '../../postgres/tables.ts';

/** A program that joined a run. */
export type RecorderRecord = Selectable<Tables['runRecorders']>;

/** Reads the recorders of runs, in one statement, as they joined. */
export function readRecorders(db: Db, runs: readonly string[]): Promise<readonly RecorderRecord[]> {
  return wholeRowsWhere(db, 'runRecorders', { runId: runs }, ['joinedAt', 'recorderId']);
}

/**
 * Returns which runs go on although all who joined them have left, one of them as `completed`, the last one at least `graceMs` ago by
 * the log's clock, which their openers do not end, and have no end on record that is set aside.
 */
export async function readLeftRuns(db: Db, graceMs: number): Promise<readonly string[]> {
  const { rows } = await sql<{ runId: string }>`
    select run_id from runs r where finished_at is null and exists (
      select from run_recorders m where m.run_id = r.run_id 
      having bool_and(left_at is not null) and bool_or(outcome = 'completed') and not bool_or(ended_by_opener))
    and not exists (
      select from events e where e.stream = r.run_id and e.type = 'RecorderLeft' and e.received_at > now() - ${graceMs} * interval '1 ms')
    and not exists (select from events e where e.stream = r.run_id and e.entity_id = r.run_id and e.type = 'RunFinished')`.execute(
    db,
  );
  return rows.map(({ runId }) => runId);
}
