import { sql } from 'kysely';
import type { DataOf } from '../../events/catalogue.ts';
import type { Db } from '../../postgres/database.ts';

/** What was done over, and how it came out. */
export type ReplayRecord = DataOf<'ReplayFinished'> & { readonly finishedAt: Date };

/** Reads the replays of runs, in one statement, each run's as they finished. */
export async function readReplays(db: Db, runs: readonly string[]): Promise<readonly ReplayRecord[]> {
  const { rows } = await sql<ReplayRecord>`
    select replay_id as "replayId", run_id as "runId", mode, outcome, compared, differing, differences, notes, parameters,
           code_version as "codeVersion", seconds, finished_at as "finishedAt"
    from replays where run_id = any(${[...runs]}::uuid[]) order by run_id, finished_at, replay_id`.execute(db);
  return rows;
}
