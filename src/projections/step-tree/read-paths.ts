import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

const HOP_LIMIT = 10_000; // the longest path that a ValueBackedUp may name; also ends a walk over damaged parent links

/** Walks from each step up to its root, in one statement. Gives the ids of each path, root first; an unknown step has an empty path. */
export async function readPaths(db: Db, leaves: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rows } = await sql<{ leaf: string; steps: string[] }>`
    with recursive walk as (
      select step_id as leaf, step_id, parent_step_id, 0 as hops from steps where step_id = any(${[...leaves]}::uuid[])
      union all
      select w.leaf, s.step_id, s.parent_step_id, w.hops + 1
      from walk w join steps s on s.step_id = w.parent_step_id
      where w.hops < ${HOP_LIMIT}
    )
    select leaf, array_agg(step_id order by hops desc) as steps from walk group by leaf`.execute(db);
  return new Map(rows.map(({ leaf, steps }) => [leaf, steps]));
}
