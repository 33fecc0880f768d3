import { z } from 'zod';
import type { PlanRules } from '../../domain/training/planning/plan-rules.ts';
import { name } from '../../events/schemas/values.ts';
import { trainingSettings } from '../../training/backends/training-settings.ts';

/** Everything that determines a training besides the code: with the linear policy, the same plan ends in the same weights. */
export const trainPlan = z.strictObject({
  policyId: name,
  environment: name,
  /** The split that is trained on; null: every task. */
  split: name.nullable(),
  /** How many tasks of it, spread over the depths; null: all. */
  tasks: z.int().min(1).nullable(),
  settings: trainingSettings,
  updates: z.int().min(1).max(100_000),
  groupsPerBatch: z.int().min(1).max(5_000),
  /** Rollouts of a group. */
  groupSize: z.int().min(1).max(5_000),
  /** Groups whose rollouts all earned the same teach a group estimator nothing. */
  zeroVariance: z.enum(['reject', 'keep']),
  /** The reward components that are trained on, with their weights; left out: what the environment says of success, alone. */
  rewards: z.record(name, z.number().min(-1e6).max(1e6)).optional(),
  mode: z.enum(['strict', 'bounded']),
  maxStaleness: z.int().min(0).max(1_000),
  temperature: z.number().gt(0).max(100),
  maxSteps: z.int().min(1).max(10_000),
  taskSeed: z.int(),
  seed: z.int(),
  /** Measured on tasks of another split: the first version, the last, and each `every` between; null: not at all. */
  evaluation: z
    .strictObject({ split: name.nullable(), tasks: z.int().min(1), rollouts: z.int().min(1), every: z.int().min(1) })
    .nullable(),
});
export type TrainPlan = z.infer<typeof trainPlan>;

const METRIC = 'environment'; // the component of every environment's own reward

/** The parameters of the batcher. One row of a policy that chooses among actions is one token, so a budget cuts nothing. */
export function rulesOf(plan: TrainPlan): PlanRules {
  return {
    groupsPerBatch: plan.groupsPerBatch,
    group: { kind: 'all' },
    maxStaleness: plan.mode === 'strict' ? 0 : plan.maxStaleness,
    // a correction compares with the log-probs that samples were drawn with
    offPolicy: plan.settings.correction === undefined ? 'any' : 'log-probs',
    ...{ metric: METRIC, unscored: 'reject', zeroVariance: plan.zeroVariance, band: null },
    rewards: plan.rewards ?? { [METRIC]: 1 },
    ...{ truncated: 'keep', maxTokens: null, layout: 'step', tokenBudget: 1_000_000 },
  };
}
