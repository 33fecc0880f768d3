import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** A rollout with spans that are not placed. */
export interface WaitingRollout {
  readonly rolloutId: string;
  readonly run: string;
  readonly task: string;
  readonly rollout: string;
  readonly principal: string;
  readonly project: string;
  /** Whether a span arrived with which it ends. */
  readonly ends: boolean;
  /** When the last of its spans arrived. */
  readonly lastAt: Date;
}

/** Reads the rollouts whose spans wait to be placed, the oldest first. */
export async function readWaitingRollouts(db: Db, limit = 1_000): Promise<readonly WaitingRollout[]> {
  const { rows } = await sql<WaitingRollout>`
    select rollout_id, run, task, rollout, min(principal) as principal, project, bool_or(ends) as ends, max(received_at) as last_at
      from held_spans
     where rollout_id in (select rollout_id from held_spans where not placed)
     group by rollout_id, run, task, rollout, project
     order by last_at
     limit ${limit}`.execute(db);
  return rows;
}
