import { sql } from 'kysely';
import {
  column,
  microseconds,
  TASK,
  type TableColumn,
  type TableFilter,
  type TableQuery,
  type TreeTable,
  WHERE,
} from './table.ts';

export interface RewardFilter extends TableFilter {
  readonly rolloutId?: string;
  readonly stepId?: string;
  readonly component?: string;
  readonly scorer?: string;
  /** The value in force is in [from, until). */
  readonly valueFrom?: number;
  readonly valueUntil?: number;
  /** The policy that the rollout began with, and its version. */
  readonly policyId?: string;
  readonly policyVersion?: number;
  /** What the environment says of the rollout. */
  readonly success?: boolean;
}

const COLUMNS: readonly TableColumn[] = [
  ...WHERE,
  column('reward_id', 'utf8', sql`rewards.reward_id::text`, 'Id of the reward.'),
  column('step_id', 'utf8', sql`rewards.step_id::text`, 'The step that it judges; null of a rollout.'),
  column(
    'rollout_id',
    'utf8',
    sql`coalesce(rewards.rollout_id, steps.rollout_id)::text`,
    'The rollout that it judges, or that took its step; null for a step of a search.',
  ),
  ...TASK,
  column('component', 'utf8', sql`rewards.component`, 'What it is about: environment, process, …'),
  column('value', 'float64', sql`rewards.value`, 'The judgement in force.'),
  column('assigned_value', 'float64', sql`rewards.assigned_value`, 'The first judgement.'),
  column('scorer', 'utf8', sql`rewards.scorer`, 'Who judged, in force.'),
  column('scorer_revision', 'utf8', sql`rewards.scorer_revision`, 'The revision of its rules.'),
  column('revisions', 'int32', sql`rewards.revisions`, 'How many later judgements there are.'),
  column('raw_value', 'float64', sql`(rewards.raw ->> 'value')::float8`, 'What the environment said before it was normalised.'),
  column('assigned_at', 'instant', microseconds('rewards.assignedAt'), 'When it was assigned.'),
  column('revised_at', 'instant', microseconds('rewards.revisedAt'), 'When it was last judged again.'),
];

/** Rewards of steps and of rollouts. */
export const rewardsTable: TreeTable<RewardFilter> = {
  kind: 'trees',
  name: 'rewards',
  summary: 'Rewards of steps and rollouts',
  query(db, filter) {
    const query = db
      .selectFrom('rewards')
      .innerJoin('trees', 'trees.treeId', 'rewards.treeId')
      .leftJoin('steps', (on) => on.onRef('steps.stepId', '=', 'rewards.stepId').onRef('steps.treeId', '=', 'rewards.treeId'));
    return conditions(filter).reduce((all, condition) => all.where(condition), query) as unknown as TableQuery;
  },
  keys: [{ column: 'rewards.rewardId', type: 'uuid' }],
  columns: COLUMNS,
  from: ['step-tree', 'rewards'],
  ofStreams: () => true,
};

function conditions(filter: RewardFilter) {
  const all = [];
  if (filter.rolloutId !== undefined)
    all.push(sql<boolean>`coalesce(rewards.rollout_id, steps.rollout_id) = ${filter.rolloutId}::uuid`);
  if (filter.stepId !== undefined) all.push(sql<boolean>`rewards.step_id = ${filter.stepId}::uuid`);
  if (filter.component !== undefined) all.push(sql<boolean>`rewards.component = ${filter.component}`);
  if (filter.scorer !== undefined) all.push(sql<boolean>`rewards.scorer = ${filter.scorer}`);
  if (filter.valueFrom !== undefined) all.push(sql<boolean>`rewards.value >= ${filter.valueFrom}`);
  if (filter.valueUntil !== undefined) all.push(sql<boolean>`rewards.value < ${filter.valueUntil}`);
  const of = [];
  if (filter.policyId !== undefined) of.push(sql`r.policy_id = ${filter.policyId}`);
  if (filter.policyVersion !== undefined) of.push(sql`r.policy_version = ${filter.policyVersion}`);
  if (filter.success !== undefined) of.push(sql`r.success = ${filter.success}`);
  if (of.length > 0)
    all.push(
      sql<boolean>`exists (select from rollouts r where r.rollout_id = coalesce(rewards.rollout_id, steps.rollout_id) and r.tree_id = rewards.tree_id
        and ${sql.join(of, sql` and `)})`,
    );
  return all;
}
