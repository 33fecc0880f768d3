import { sql } from 'kysely';
import { groupBy } from '../../domain/group-by.ts';
import { type RewardWeights, weightOf } from '../../domain/training/planning/plan-rules.ts';
import type { CapturedWalk, RecordedWalk } from '../../domain/training/planning/record-fault.ts';
import type { Offsets } from '../../log/event-log.ts';
import type { Blobs } from '../../postgres/column-types.ts';
import type { Db } from '../../postgres/database.ts';
import { keyInTree, type OfTree, pairsOf } from '../../projections/of-tree.ts';
import { foldRewardsAt } from '../../projections/rewards/rewards-at.ts';
import { readPaths } from '../../projections/step-tree/read-paths.ts';
import { readGreedySiblings } from '../../projections/training-pool/read-greedy-siblings.ts';
import type { BatchReward, BatchTrajectory } from './batch-rows.ts';
import { totalOf } from './jagged.ts';
import { type BlobReader, inPlace } from './read-blob.ts';

/** A finished rollout with what its tree and its run say of it. */
export interface RolloutRow
  extends Pick<
    BatchTrajectory,
    | 'rolloutId'
    | 'treeId'
    | 'runId'
    | 'taskId'
    | 'environment'
    | 'goal'
    | 'instruction'
    | 'outcome'
    | 'success'
    | 'temperature'
    | 'prompting'
  > {
  /** How many steps its end says it took. */
  readonly taken: number;
  readonly fromStepId: string;
  readonly leafStepId: string;
  readonly rootStepId: string;
  readonly blobs: Blobs | null;
}

/** The path of a finished rollout, as its end and its tree say it. */
export interface WalkRow extends RecordedWalk, CapturedWalk {
  readonly treeId: string;
  readonly leafStepId: string;
  /** What its run drew with; null where its plan does not say. */
  readonly temperature: number | null;
  readonly prompting: BatchTrajectory['prompting'];
}

/** Of the run of a rollout, as `runs`: the temperature of its policy, or else that of its plan. */
const RUN_TEMPERATURE = sql`coalesce(
  substring(runs.config ->> 'policy' from '^\\{.*"temperature"\\s*:\\s*([0-9]{1,9}(?:\\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,2})?)')::double precision,
  case when jsonb_typeof(runs.config -> 'temperature') = 'number' then (runs.config -> 'temperature')::double precision end)`;

/** Whether prompts of a run follow from the texts of their paths. */
const PROMPTING = sql`case when runs.config -> 'prompt' is null and runs.config -> 'capture' is null and coalesce(runs.config ->> 'search', '') = ''
  and coalesce(runs.config ->> 'policy', '') not like '%"merged"%' then 'plain-chat' else 'otherwise' end`;

/** Reads the walks of finished rollouts, in no order; those that are unknown or go on are left out. */
export async function readWalks(db: Db, rollouts: readonly OfTree[]): Promise<readonly WalkRow[]> {
  const { rows } = await sql<WalkRow>`
    select r.rollout_id, r.tree_id, t.root_step_id, r.from_step_id, r.leaf_step_id, r.steps as taken, r.unclear_calls, r.lost_parts, ${RUN_TEMPERATURE} as temperature,
      ${PROMPTING} as prompting
    from ${pairsOf(rollouts)} w join rollouts r on r.rollout_id = w.id and r.tree_id = w.tree_id
    join trees t on t.tree_id = r.tree_id left join runs on runs.run_id = t.run_id
    where r.leaf_step_id is not null`.execute(db);
  return rows;
}

/**
 * Reads finished rollouts with the texts of their trees, in no order; those that are unknown or go on are left out. @throws
 * RowsError `blob`.
 */
export async function readRolloutsOfBatch(
  db: Db,
  blobs: BlobReader,
  rollouts: readonly OfTree[],
): Promise<readonly RolloutRow[]> {
  const { rows } = await sql<RolloutRow>`
    select r.rollout_id, r.tree_id, t.run_id, t.task_id, t.environment, t.goal,
      t.instruction, t.root_step_id, t.blobs, r.from_step_id, r.leaf_step_id, r.outcome,
      r.success, ${RUN_TEMPERATURE} as temperature, r.steps as taken,
      ${PROMPTING} as prompting
    from ${pairsOf(rollouts)} w join rollouts r on r.rollout_id = w.id and r.tree_id = w.tree_id
    join trees t on t.tree_id = r.tree_id
    left join runs on runs.run_id = t.run_id
    where r.leaf_step_id is not null`.execute(db);
  return inPlace(rows, blobs, ({ treeId }) => `tree ${treeId}`);
}

/**
 * Reads the rewards in force of trees by the step, or else the rollout, that they are of (`keyInTree`). By component and value, so
 * that equal rewards have equal sums. One that names a step and a rollout that did not take it is not among them: the fold of
 * rewards refuses it, and the pool counts it for nobody.
 */
export async function readRewards(
  db: Db,
  trees: readonly string[],
  weights: RewardWeights | undefined,
): Promise<ReadonlyMap<string, readonly BatchReward[]>> {
  const { rows } = await sql<RewardRow>`
    select r.tree_id, coalesce(r.step_id, r.rollout_id) as owner, r.component, r.value, r.scorer, r.scorer_revision as revision
    from rewards r where r.tree_id = any(${[...trees]}::uuid[])
    order by r.component collate "C", r.value, r.reward_id, r.tree_id`.execute(db);
  return byOwner(rows, weights);
}

/**
 * Reads the rewards of trees as of a position, from the journal, which must reach there; by owner and in the order of
 * `readRewards`.
 */
export async function readRewardsAt(
  db: Db,
  trees: readonly string[],
  position: Offsets,
  weights: RewardWeights | undefined,
): Promise<ReadonlyMap<string, readonly BatchReward[]>> {
  const inForce = [...(await foldRewardsAt(db, trees, position))].sort(
    ({ assigned: a, value: x }, { assigned: b, value: y }) =>
      byText(a.component, b.component) || x - y || byText(a.rewardId, b.rewardId) || byText(a.treeId, b.treeId),
  );
  return byOwner(
    inForce.flatMap(({ assigned: { treeId, stepId, rolloutId, component }, value, scorer: { name: scorer, revision } }) => {
      const owner = stepId ?? rolloutId;
      return owner === null ? [] : [{ treeId, owner, component, value, scorer, revision }];
    }),
    weights,
  );
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Groups rewards by their owner, those of components that are not trained on left out. */
function byOwner(rows: readonly RewardRow[], weights: RewardWeights | undefined): ReadonlyMap<string, readonly BatchReward[]> {
  const weighed = rows.map((row) => ({ ...row, weight: weightOf(weights, row.component) })).filter(({ weight }) => weight !== 0);
  return groupBy(
    weighed,
    ({ treeId, owner }) => keyInTree(treeId, owner),
    ({ component, value, weight, scorer, revision }) => ({ component, value, weight, scorer: { name: scorer, revision } }),
  );
}

interface RewardRow {
  readonly treeId: string;
  readonly owner: string;
  readonly component: string;
  readonly value: number;
  readonly scorer: string;
  readonly revision: string;
}

/**
 * Reads the score of the greedy rollout that each group is compared with (ReMax): the sum of its rewards by the weights of the
 * batch, whose estimator asks for it. @param rewardsOf the rewards of trees by the key of their step, or else of their rollout, as
 * those of the batch are read. @returns tree of the group → score; groups without a greedy rollout are left out.
 */
export async function readGreedyScores(
  db: Db,
  policyId: string,
  trees: readonly string[],
  rewardsOf: (trees: readonly string[]) => Promise<ReadonlyMap<string, readonly BatchReward[]>>,
): Promise<ReadonlyMap<string, number>> {
  const siblings = await readGreedySiblings(db, policyId, trees);
  const read = await readWalks(
    db,
    siblings.map(({ siblingTreeId: treeId, rolloutId: id }) => ({ treeId, id })),
  );
  const walks = new Map(read.map((walk) => [keyInTree(walk.treeId, walk.rolloutId), walk]));
  const paths = await readPaths(
    db,
    read.map(({ treeId, leafStepId: id }) => ({ treeId, id })),
  );
  const rewards = await rewardsOf([...new Set(siblings.map(({ siblingTreeId }) => siblingTreeId))]);
  return new Map(
    siblings.flatMap(({ treeId, siblingTreeId, rolloutId }) => {
      const keyOf = (id: string) => keyInTree(siblingTreeId, id);
      const walk = walks.get(keyOf(rolloutId));
      if (!walk) return [];
      const path = paths.get(keyOf(walk.leafStepId)) ?? [];
      const own = path.slice(path.indexOf(walk.fromStepId) + 1);
      const score = [...own, rolloutId].reduce((sum, owner) => sum + totalOf(rewards.get(keyOf(owner)) ?? []), 0);
      return [[treeId, score] as const];
    }),
  );
}
