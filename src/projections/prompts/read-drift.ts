import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import type { OfTree } from '../of-tree.ts';

/** Steps of a run whose prompt does not continue the token ids of the step before. */
export interface DriftRecord {
  readonly runId: string;
  readonly steps: number;
  /** The first of them in the order of the log. */
  readonly first: OfTree | null;
}

/** Reads the drift of runs in one statement; runs without any are left out. */
export async function readDrift(db: Db, runs: readonly string[]): Promise<readonly DriftRecord[]> {
  const { rows } = await sql<DriftRecord>`
    select run_id, count(*)::int as steps, (array_agg(jsonb_build_object('treeId', tree_id, 'id', step_id) order by shown_at, tree_id, log_offset))[1] as first
    from prompts where run_id = any(${[...runs]}::uuid[]) and drifted group by run_id`.execute(db);
  return rows;
}
