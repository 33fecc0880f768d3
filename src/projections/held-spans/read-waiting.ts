import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** A rollout with spans that are not placed, and who sent them: another may have sent some of the same rollout. */
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

/** A name of waiting spans: those of one rollout that one principal sent. */
export function nameOfWaiting({ rolloutId, principal }: Pick<WaitingRollout, 'rolloutId' | 'principal'>): string {
  return `${rolloutId} ${principal}`;
}

interface Asked {
  /** By `nameOfWaiting`: what is left out, so that it takes nobody's place. */
  readonly except?: readonly string[];
  /** Null: all there are. */
  readonly limit?: number | null;
}

/** Reads the rollouts whose spans wait to be placed, the oldest first. */
export async function readWaitingRollouts(
  db: Db,
  { except = [], limit = 1_000 }: Asked = {},
): Promise<readonly WaitingRollout[]> {
  const { rows } = await sql<WaitingRollout>`
    select rollout_id, run, task, rollout, principal, project, bool_or(ends) as ends, max(received_at) as last_at
      from held_spans
     where rollout_id in (select rollout_id from held_spans where not placed)
       and rollout_id::text || ' ' || principal <> all(${[...except]}::text[])
     group by rollout_id, run, task, rollout, principal, project
    having not bool_and(placed)
     order by last_at
     limit ${limit}`.execute(db);
  return rows;
}
