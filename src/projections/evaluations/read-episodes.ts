import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/**
 * A finished rollout as an evaluation measures it; `actions` are its own, first to last, without those of the path it began
 * behind.
 */
export interface EpisodeRecord {
  readonly rolloutId: string;
  readonly taskId: string;
  readonly taskDepth: number | null;
  readonly split: string | null;
  readonly return: number;
  readonly success: boolean;
  readonly actions: readonly string[];
}

/**
 * Reads the finished rollouts of a run, in the order of their ids. An action that lies in the blob store (over 64 KiB) reads as
 * ''.
 */
export async function readEpisodes(db: Db, runId: string): Promise<readonly EpisodeRecord[]> {
  const { rows } = await sql<EpisodeRecord>`
    select o.rollout_id, o.task_id, t.task_depth, t.split,
           coalesce(v.value, 0) as "return", coalesce(o.success, false) as success,
           coalesce(array_agg(s.action order by s.depth) filter (where s.step_id is not null), '{}') as actions
    from rollouts o
    join trees t using (tree_id)
    left join returns v using (rollout_id, tree_id)
    left join steps s on s.tree_id = o.tree_id and s.rollout_id = o.rollout_id
    where o.run_id = ${runId} and o.finished_at is not null
    group by o.rollout_id, o.tree_id, o.task_id, t.task_depth, t.split, v.value, o.success
    order by o.rollout_id, o.tree_id`.execute(db);
  return rows;
}
