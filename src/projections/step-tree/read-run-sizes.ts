import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

export interface RunSize {
  readonly trees: number;
  readonly rollouts: number;
}

/** Counts the trees and rollouts of runs, finished or not, in one statement. */
export async function readRunSizes(db: Db, runs: readonly string[]): Promise<ReadonlyMap<string, RunSize>> {
  const { rows } = await sql<RunSize & { runId: string }>`
    select c.run_id, (select count(*) from trees t where t.run_id = c.run_id) as trees,
           (select count(*) from rollouts r where r.run_id = c.run_id) as rollouts
    from unnest(${[...runs]}::uuid[]) as c(run_id)`.execute(db);
  return new Map(rows.map(({ runId, trees, rollouts }) => [runId, { trees, rollouts }]));
}
