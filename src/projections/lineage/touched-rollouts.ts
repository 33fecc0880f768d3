import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import type { RecallSeed } from './touched.ts';

/** The rollouts that a recall begins with. */
export interface TouchedRollouts {
  /** The text of a `uuid[]`: a scorer may have judged a million, which go into the next statements as they came. */
  readonly rolloutIds: string;
  /** The tree of each, likewise. */
  readonly ofTrees: string;
  /** The trees of those, the text of a `uuid[]`. */
  readonly treeIds: string;
  readonly runs: readonly string[];
  readonly rollouts: number;
  readonly trees: number;
}

/** Reads the rollouts of a seed, and those of runs that repeat a step of it; none without a seed. */
export async function readTouchedRollouts(
  db: Db,
  seed: Extract<RecallSeed, { kind: 'rollouts' }> | null,
): Promise<TouchedRollouts> {
  if (seed === null) return { rolloutIds: '{}', ofTrees: '{}', treeIds: '{}', runs: [], rollouts: 0, trees: 0 };
  const ids = seed.steps === null ? seed.rollouts : sql`(${seed.rollouts}) union (${rolloutsForkedFrom(seed.steps)})`;
  const { rows } = await sql<TouchedRollouts>`
    with touched as materialized (${seed.few ? oneByOne(ids) : sql`select rollout_id, tree_id, run_id from rollouts where (rollout_id, tree_id) in (${ids})`}),
      trees as (select array_agg(distinct tree_id) as ids from touched)
    select coalesce(array_agg(rollout_id order by tree_id, rollout_id), '{}')::text as rollout_ids,
           coalesce(array_agg(tree_id order by tree_id, rollout_id), '{}')::text as of_trees,
           coalesce((select ids from trees), '{}')::text as tree_ids,
           coalesce(array_agg(distinct run_id order by run_id), '{}')::text[] as runs,
           count(*)::integer as rollouts, coalesce(cardinality((select ids from trees)), 0) as trees
    from touched`.execute(db);
  const [touched] = rows;
  if (!touched) throw new Error('an aggregate has one row');
  return touched;
}

/** Rollouts, each by the key of the table; Postgres expects thousands of ids of any walk along steps. */
function oneByOne(ids: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`
    select o.rollout_id, o.tree_id, o.run_id from (select distinct rollout_id, tree_id from (${ids}) i (rollout_id, tree_id)) i
    cross join lateral (select * from rollouts r where r.rollout_id = i.rollout_id and r.tree_id = i.tree_id offset 0) o`;
}

/**
 * Returns the rollouts of runs that were forked at one of these steps or below, of runs forked from any step of those, and so on.
 */
function rolloutsForkedFrom(steps: RawBuilder<unknown>): RawBuilder<unknown> {
  // of any producer's configuration: they may be no ids
  const idOf = (field: 'stepId' | 'treeId') => {
    const text = sql`r.config #>> ${sql.lit(`{fork,${field}}`)}`;
    return sql`case when ${text} ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then (${text})::uuid end`;
  };
  return sql`
    with recursive forks as materialized (
      select r.run_id, s.step_id, s.tree_id, t.run_id as origin from runs r
      join steps s on s.step_id = ${idOf('stepId')} and s.tree_id = ${idOf('treeId')}
      join trees t on t.tree_id = s.tree_id
      where r.kind = 'fork'
    ), repeated as (
      select run_id, step_id, tree_id from forks
      union
      select p.run_id, s.parent_step_id, s.tree_id from repeated p
      join steps s on s.step_id = p.step_id and s.tree_id = p.tree_id where s.parent_step_id is not null
    ), touched as (
      select run_id from repeated where (step_id, tree_id) in (select step_id, tree_id from (${steps}) given (step_id, tree_id))
      union
      select f.run_id from touched t join forks f on f.origin = t.run_id
    )
    select o.rollout_id, o.tree_id from touched t join rollouts o on o.run_id = t.run_id`;
}

/** Returns touched rollouts as a query of `rollout_id` and `tree_id`. */
export function pairsTouched({ rolloutIds, ofTrees }: Pick<TouchedRollouts, 'rolloutIds' | 'ofTrees'>): RawBuilder<unknown> {
  return sql`select * from unnest(${rolloutIds}::uuid[], ${ofTrees}::uuid[]) as w (rollout_id, tree_id)`;
}
