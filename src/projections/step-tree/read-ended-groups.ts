import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/** A group that several programs record, whose members have all ended. */
export interface EndedGroup {
  readonly treeId: string;
  readonly runId: string;
  readonly rollouts: number;
  /** When the last of them ended, by the clocks of those who recorded them. */
  readonly endedAt: Date;
}

/**
 * Reads the shared groups that are open although as many rollouts as were planned have ended, and none goes on. A group whose end is
 * on record has one, also where that is set aside.
 */
export async function readEndedGroups(db: Db): Promise<readonly EndedGroup[]> {
  const { rows } = await sql<EndedGroup>`
    select t.tree_id, t.run_id, o.rollouts, o.ended_at from trees t cross join lateral (
      select count(*)::int as rollouts, count(o.outcome) as ended, max(o.finished_at) as ended_at
      from rollouts o where o.tree_id = t.tree_id) o
    where t.shared and t.closed_at is null and o.ended = o.rollouts and o.ended >= greatest(t.planned_rollouts, 1)
      and not exists (select from events e where e.stream = t.tree_id and e.entity_id = t.tree_id and e.type = 'TreeClosed')
    order by t.tree_id`.execute(db);
  return rows;
}
