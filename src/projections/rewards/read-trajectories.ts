import { type Selectable, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { listOf } from '../../postgres/keyset.ts';
import type { Ordering } from '../../postgres/keyset-cursor.ts';
import type { Tables } from '../../postgres/tables.ts';
import { type OfTree, pairsOf } from '../of-tree.ts';
import { chosenRollouts, type RolloutFilter, type RolloutRecord, toRollout } from '../step-tree/read-rollouts.ts';

/** A root-to-leaf path of a finished rollout, with its return. It has the rollout's id. */
export interface TrajectoryRecord {
  readonly id: string;
  readonly treeId: string;
  readonly leafStepId: string;
  /** The sum of the rewards in force along the path and on the rollout; null where there is none. */
  readonly return: number | null;
  readonly rollout: RolloutRecord;
}
export interface TrajectoryFilter extends RolloutFilter {
  readonly returnFrom?: number;
  readonly returnUntil?: number;
  readonly stepsFrom?: number;
  readonly stepsUntil?: number;
  /** Examples of this dataset were made of it, as the good or the bad one. */
  readonly datasetId?: string;
}

const ID = [
  { column: 'rollouts.rolloutId', type: 'uuid' },
  { column: 'rollouts.treeId', type: 'uuid' },
] as const;
const FINISHED = [{ column: 'rollouts.finishedAt', type: 'instant?' }, ...ID] as const;
const RETURN = [
  { column: 'returns.value', type: 'float?' },
  { column: 'returns.rolloutId', type: 'uuid' },
  { column: 'returns.treeId', type: 'uuid' },
] as const;
const STEPS = [{ column: 'rollouts.steps', type: 'integer?' }, ...ID] as const;
export const TRAJECTORY_ORDERINGS = {
  FINISHED_ASC: { name: 'trajectories/FINISHED_ASC', direction: 'asc', keys: FINISHED },
  FINISHED_DESC: { name: 'trajectories/FINISHED_DESC', direction: 'desc', keys: FINISHED },
  RETURN_ASC: { name: 'trajectories/RETURN_ASC', direction: 'asc', keys: RETURN, nulls: 'last' },
  RETURN_DESC: { name: 'trajectories/RETURN_DESC', direction: 'desc', keys: RETURN, nulls: 'last' },
  STEPS_ASC: { name: 'trajectories/STEPS_ASC', direction: 'asc', keys: STEPS },
  STEPS_DESC: { name: 'trajectories/STEPS_DESC', direction: 'desc', keys: STEPS },
} as const satisfies Record<string, Ordering>;

/** The pages of trajectories, and their counts. */
export const { pages: readTrajectories, counts: countTrajectories } = listOf(
  (db, filter: TrajectoryFilter) => chosenTrajectories(db, filter).selectAll('rollouts').select(RETURNED),
  toTrajectory,
);

/** Reads trajectories by their rollouts, in no order; rollouts that go on have none yet. */
export async function readTrajectoriesNamed(db: Db, rollouts: readonly OfTree[]): Promise<readonly TrajectoryRecord[]> {
  const rows = await chosenTrajectories(db, {})
    .where(sql<boolean>`(rollouts.rollout_id, rollouts.tree_id) in (select w.id, w.tree_id from ${pairsOf(rollouts)} w)`)
    .selectAll('rollouts')
    .select(RETURNED)
    .execute();
  return rows.map(toTrajectory);
}

/** Reads trajectories by the ids of their rollouts alone, likewise; of an id that several trees have, all. */
export async function readTrajectoriesById(db: Db, rollouts: readonly string[]): Promise<readonly TrajectoryRecord[]> {
  const rows = await chosenTrajectories(db, {})
    .where('rollouts.rolloutId', 'in', [...rollouts])
    .selectAll('rollouts')
    .select(RETURNED)
    .execute();
  return rows.map(toTrajectory);
}

/** The trajectories of a filter, as a query to go on from. */
export function chosenTrajectories(db: Db, filter: TrajectoryFilter) {
  // A finished rollout is known to two projections; until both have folded its end it is no trajectory yet.
  let query = chosenRollouts(db, filter)
    .innerJoin('returns', (on) =>
      on.onRef('returns.rolloutId', '=', 'rollouts.rolloutId').onRef('returns.treeId', '=', 'rollouts.treeId'),
    )
    .where('rollouts.finishedAt', 'is not', null);
  // By the run that `returns` keeps too, so that the index (run_id, value, rollout_id) serves the order by return.
  if (filter.runId !== undefined) query = query.where('returns.runId', '=', filter.runId);
  if (filter.returnFrom !== undefined) query = query.where('returns.value', '>=', filter.returnFrom);
  if (filter.returnUntil !== undefined) query = query.where('returns.value', '<', filter.returnUntil);
  if (filter.stepsFrom !== undefined) query = query.where('rollouts.steps', '>=', filter.stepsFrom);
  if (filter.stepsUntil !== undefined) query = query.where('rollouts.steps', '<', filter.stepsUntil);
  if (filter.datasetId !== undefined) {
    const of = sql`dataset_examples e where e.dataset_id = ${filter.datasetId}`;
    query = query.where(sql<boolean>`(rollouts.rollout_id, rollouts.tree_id) in (
      select e.bad_rollout_id, e.tree_id from ${of} union select e.good_rollout_id, e.tree_id from ${of})`);
  }
  return query;
}

const RETURNED = [sql<number | null>`returns.value`.as('return'), sql<string>`returns.leaf_step_id`.as('leaf')] as const;

function toTrajectory(
  row: Selectable<Tables['rollouts']> & { readonly return: number | null; readonly leaf: string },
): TrajectoryRecord {
  return { id: row.rolloutId, treeId: row.treeId, leafStepId: row.leaf, return: row.return, rollout: toRollout(row) };
}
