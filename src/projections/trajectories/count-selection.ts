import { type RawBuilder, sql } from 'kysely';
import type { Trx } from '../../postgres/database.ts';
import { type OfTree, pairsOf } from '../of-tree.ts';
import { fromWhere, ofRollouts } from './select-trajectories.ts';
import type { TrajectoryQuery } from './trajectory-query.ts';

/** What the read models count of a query. */
export interface SelectionCounts {
  readonly trajectories: number;
  readonly trees: number;
  /** Steps of all its paths without the roots: one that n trajectories share counts n times. */
  readonly steps: number;
}

/** Counts a query in the snapshot of the transaction. A path has as many steps as its leaf is deep. */
export async function countSelection(trx: Trx, query: TrajectoryQuery): Promise<SelectionCounts> {
  const { rows } = await sql<SelectionCounts>`
    select count(*) as trajectories, count(distinct c.tree_id) as trees, coalesce(sum(s.depth), 0)::bigint as steps
    from (select r.rollout_id, r.tree_id, r.leaf_step_id ${fromWhere(query)}) c
    left join steps s on s.step_id = c.leaf_step_id and s.tree_id = c.tree_id`.execute(trx);
  return rows[0] ?? { trajectories: 0, trees: 0, steps: 0 };
}

/** Rows that a query needs and the read models lack: how many, what they are, and where the first of them is. */
export interface SelectionGap {
  readonly what: string;
  readonly missing: number;
  readonly first: string;
}

/**
 * Finds what the read models lack of a query, which a join would pass over in silence: rollouts whose returns are known, trees
 * and returns of finished rollouts, the leaves where these ended, and parents of the steps of their trees. What a projection
 * refused waits in its quarantine, and is not missing: `espalier quarantine list` says why.
 */
export async function findSelectionGaps(trx: Trx, query: TrajectoryQuery): Promise<readonly SelectionGap[]> {
  const finished = sql.join([sql`r.finished_at is not null`, ...ofRollouts(query)], sql` and `);
  const ofRuns = query.runs ? sql`v.run_id = any(${[...query.runs]}::uuid[])` : sql`true`;
  const { rows } = await sql<SelectionGap>`
    with chosen as (select r.rollout_id, r.tree_id, r.leaf_step_id ${fromWhere(query)})
    select * from (
      select 'trees of finished rollouts' as what, count(*) as missing, min('rollout ' || r.rollout_id) as first
      from rollouts r where ${finished} and not exists (select from trees t where t.tree_id = r.tree_id)
      union all
      select 'returns of finished rollouts', count(*), min('rollout ' || r.rollout_id)
      from rollouts r where ${finished} and not exists (select from returns v where v.rollout_id = r.rollout_id and v.tree_id = r.tree_id)
        and not ${waits(sql`r.tree_id`, 'rewards')}
      union all
      select 'finished rollouts of returns', count(*), min('rollout ' || v.rollout_id)
      from returns v where ${ofRuns}
        and not exists (select from rollouts r where r.rollout_id = v.rollout_id and r.tree_id = v.tree_id and r.finished_at is not null)
        and not ${waits(sql`v.tree_id`, 'step-tree')}
      union all
      select 'leaves of finished rollouts', count(*), min('rollout ' || c.rollout_id)
      from chosen c where not exists (select from steps s where s.step_id = c.leaf_step_id and s.tree_id = c.tree_id)
      union all
      select 'parents of steps', count(*), min('step ' || s.step_id)
      from (select distinct tree_id from chosen) c join steps s on s.tree_id = c.tree_id
      left join steps p on p.step_id = s.parent_step_id and p.tree_id = s.tree_id and p.depth = s.depth - 1
      where s.depth > 0 and p.step_id is null
    ) gaps where missing > 0`.execute(trx);
  return rows;
}

/** Whether events of a tree wait in the quarantine of a projection. */
function waits(treeId: RawBuilder<unknown>, projection: string): RawBuilder<unknown> {
  return sql`exists (select from quarantine q where q.stream = ${treeId}::text and q.projection = ${projection} and q.requeued_at is null)`;
}

/** The leaf at which a rollout ended, and its depth. */
export interface LeafDepth {
  readonly treeId: string;
  readonly rolloutId: string;
  readonly leafStepId: string;
  readonly depth: number;
}

/** Reads how deep the leaves of rollouts are; a rollout whose leaf is missing is left out. */
export async function readLeafDepths(trx: Trx, rollouts: readonly OfTree[]): Promise<readonly LeafDepth[]> {
  const { rows } = await sql<LeafDepth>`
    select r.tree_id, r.rollout_id, r.leaf_step_id, s.depth
    from ${pairsOf(rollouts)} w join rollouts r on r.rollout_id = w.id and r.tree_id = w.tree_id
    join steps s on s.step_id = r.leaf_step_id and s.tree_id = r.tree_id`.execute(trx);
  return rows;
}
