import { sql } from 'kysely';
import { microseconds } from './instant.ts';
import type { TableFilter, TableQuery, TreeTable } from './table.ts';
import type { TableColumn } from './table-column.ts';
import { TASK, WHERE } from './tree-columns.ts';

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
  { name: 'reward_id', type: 'utf8', value: sql`rewards.reward_id::text`, says: 'Id of the reward.' },
  { name: 'step_id', type: 'utf8', value: sql`rewards.step_id::text`, says: 'The step that it judges; null of a rollout.' },
  {
    name: 'rollout_id',
    type: 'utf8',
    value: sql`coalesce(rewards.rollout_id, steps.rollout_id)::text`,
    says: 'The rollout that it judges, or that took its step; null for a step of a search.',
  },
  ...TASK,
  { name: 'component', type: 'utf8', value: sql`rewards.component`, says: 'What it is about: environment, process, …' },
  { name: 'value', type: 'float64', value: sql`rewards.value`, says: 'The judgement in force.' },
  { name: 'assigned_value', type: 'float64', value: sql`rewards.assigned_value`, says: 'The first judgement.' },
  { name: 'scorer', type: 'utf8', value: sql`rewards.scorer`, says: 'Who judged, in force.' },
  { name: 'scorer_revision', type: 'utf8', value: sql`rewards.scorer_revision`, says: 'The revision of its rules.' },
  { name: 'revisions', type: 'int32', value: sql`rewards.revisions`, says: 'How many later judgements there are.' },
  {
    name: 'raw_value',
    type: 'float64',
    value: sql`(rewards.raw ->> 'value')::float8`,
    says: 'What the environment said before it was normalised.',
  },
  { name: 'assigned_at', type: 'instant', value: microseconds('rewards.assignedAt'), says: 'When it was assigned.' },
  { name: 'revised_at', type: 'instant', value: microseconds('rewards.revisedAt'), says: 'When it was last judged again.' },
];

/** Rewards of steps and of rollouts. */
export const rewardsTable: TreeTable<RewardFilter> = {
  kind: 'trees',
  name: 'rewards',
  query(db, filter) {
    const query = db
      .selectFrom('rewards')
      .innerJoin('trees', 'trees.treeId', 'rewards.treeId')
      .leftJoin('steps', 'steps.stepId', 'rewards.stepId');
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
      sql<boolean>`exists (select from rollouts r where r.rollout_id = coalesce(rewards.rollout_id, steps.rollout_id)
        and ${sql.join(of, sql` and `)})`,
    );
  return all;
}
