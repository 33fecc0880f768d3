import { sql } from 'kysely';
import type { DataOf } from '../../events/catalogue.ts';
import type { Db } from '../../postgres/database.ts';
import { listOf, whereEqual } from '../../postgres/keyset.ts';
import type { Ordering } from '../../postgres/keyset-cursor.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';

/** What was done over, and how it came out. */
export type ReplayRecord = DataOf<'ReplayFinished'> & { readonly finishedAt: Date };

const COLUMNS = sql`
  replay_id, run_id, mode, outcome, compared, differing, differences, notes, parameters,
  code_version, seconds, finished_at`;

export interface ReplayFilter {
  readonly runId?: string;
  readonly mode?: ReplayRecord['mode'];
  readonly outcome?: ReplayRecord['outcome'];
}

export const REPLAY_ORDERING = {
  name: 'replays/FINISHED_DESC',
  direction: 'desc',
  keys: [
    { column: 'replays.finishedAt', type: 'instant' },
    { column: 'replays.replayId', type: 'uuid' },
  ],
} as const satisfies Ordering;

/** The pages of replays, and their counts. */
export const { pages: readReplayPages, counts: countReplays } = listOf(
  (db, filter: ReplayFilter) => whereEqual(db.selectFrom('replays'), 'replays', filter, ['runId', 'mode', 'outcome']).selectAll(),
  (row) => row as unknown as ReplayRecord, // the fold writes what the event's schema checked
);

/** A replay of a policy's training. */
export type TrainingReplayRecord = ReplayRecord & { readonly policyId: string };

/** Reads the replays of the trainings of policies, in one statement, each policy's as they finished. */
export async function readReplaysOfPolicies(db: Db, policies: readonly string[]): Promise<readonly TrainingReplayRecord[]> {
  const { rows } = await sql<TrainingReplayRecord>`
    select ${COLUMNS}, parameters ->> 'policyId' as policy_id from replays
    where mode = 'training' and parameters ->> 'policyId' = any(${[...policies]}::text[]) order by finished_at, replay_id`.execute(
    db,
  );
  return rows;
}

/** Returns whether a replay of a run is on record. */
export async function isReplayRecorded(db: Db, runId: string, replayId: string): Promise<boolean> {
  return (await rowsWhere(db, 'replays', { runId, replayId }, ['mode'])).length > 0;
}

/** Reads the replays of runs, in one statement, each run's as they finished. */
export async function readReplays(db: Db, runs: readonly string[]): Promise<readonly ReplayRecord[]> {
  const { rows } = await sql<ReplayRecord>`
    select ${COLUMNS} from replays where run_id = any(${[...runs]}::uuid[]) order by run_id, finished_at, replay_id`.execute(db);
  return rows;
}
