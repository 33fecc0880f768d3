import { z } from 'zod';
import type { PlanRules } from '../../domain/training/planning/plan-rules.ts';
import { name } from '../../events/schemas/values.ts';
import { trainingSettings } from '../../training/backends/training-settings.ts';
import type { PromptPlan } from '../collect/prompting/prompt-plan.ts';
import { type Declaration, declarationFields } from './declaration/declaration-fields.ts';
import { promptPlanOf } from './declaration/prompt-fields.ts';
import { planRulesOf } from './declaration/trainer-of.ts';

/** Everything that determines a training besides the code: with the linear policy, the same plan ends in the same weights. */
export const trainPlan = z.strictObject({
  policyId: name,
  environment: name,
  /** The split that is trained on; null: every task. */
  split: name.nullable(),
  /** How many tasks of it, spread over the depths; null: all. */
  tasks: z.int().min(1).nullable(),
  settings: trainingSettings,
  /**
   * How the policy is declared; what it says, the fields of this plan say as well. Left out, they are declared for the linear
   * policy, asked by the environment's own chat.
   */
  declaration: declarationFields.required({ estimator: true, rules: true, seed: true }).optional(),
  /** The policy that acts by the newest weights of a trainer elsewhere, as `--policy` of a collection names it. */
  by: z.string().min(1).max(1_000).optional(),
  /** The model server that the versions of a language model act by; one of our own when left out. */
  server: z.string().min(1).max(1_000).optional(),
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
    .strictObject({
      split: name.nullable(),
      tasks: z.int().min(1),
      rollouts: z.int().min(1),
      every: z.int().min(1),
      /** Tasks that are trained on may be measured on too; left out, such a plan is refused. */
      trainedTasks: z.literal('allowed').optional(),
    })
    .nullable(),
});
export type TrainPlan = z.infer<typeof trainPlan>;

const METRIC = 'environment'; // the component of every environment's own reward

/** The parameters of the batcher. One row of a policy that chooses among actions is one token, so a budget cuts nothing. */
export function rulesOf(plan: TrainPlan): PlanRules {
  if (plan.declaration) return planRulesOf(plan.declaration);
  return {
    groupsPerBatch: plan.groupsPerBatch,
    group: { kind: 'all' },
    maxStaleness: plan.mode === 'strict' ? 0 : plan.maxStaleness,
    // a correction compares with the log-probs that samples were drawn with
    offPolicy: plan.settings.correction === undefined ? 'any' : 'log-probs',
    metric: METRIC,
    unscored: 'reject',
    zeroVariance: plan.zeroVariance,
    band: null,
    rewards: plan.rewards ?? { [METRIC]: 1 },
    truncated: 'keep',
    maxTokens: null,
    layout: 'step',
    tokenBudget: 1_000_000,
  };
}

/** Returns the backend that trains: `linear`, `torch`, or the name of a trainer elsewhere. */
export function backendOf({ declaration }: TrainPlan): string {
  return declaration?.backend ?? 'linear';
}

/** Returns what acts for the policy in its runs, as the plan of a run names it. @param version that one, not the newest. */
export function actingPolicy({ policyId, by, server }: TrainPlan, version?: number): string {
  const options = Object.entries({ version, by, server }).filter(([, value]) => value !== undefined);
  if (options.length === 0) return `live:${policyId}`;
  return JSON.stringify({ kind: 'live', policyId, ...Object.fromEntries(options) });
}

/**
 * Returns how the runs of the training ask; undefined for the environment's own chat. The schedule of compression follows the
 * version that answers. @throws NoTemplate.
 */
export function promptOf({ declaration, environment }: TrainPlan): PromptPlan | undefined {
  return promptPlanOf(declaration?.prompt, environment, 'version');
}

/**
 * Returns the fields of a plan that a declaration determines.
 * @param settings how our backends learn; for a trainer elsewhere only what it was declared with.
 */
export function planOfDeclaration(declaration: Declaration) {
  const { groupsPerBatch, zeroVariance, rewards, maxStaleness } = planRulesOf(declaration);
  return {
    declaration,
    groupsPerBatch,
    zeroVariance,
    groupSize: declaration.groupSize ?? 8,
    ...(rewards === undefined ? {} : { rewards }),
    mode: maxStaleness === 0 ? ('strict' as const) : ('bounded' as const),
    maxStaleness: Math.min(maxStaleness ?? FARTHEST, FARTHEST),
  };
}

const FARTHEST = 1_000; // versions: of a trainer that takes any, groups are still held back somewhere
