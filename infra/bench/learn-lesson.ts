import type { TrainedPolicy } from '../../src/platform/train-into.ts';
import { type TrainPlan, trainPlan } from '../../src/platform/train-plan.ts';
import { LINEAR_SETTINGS, type TrainingSettings } from '../../src/training/backends/training-settings.ts';

/**
 * Sizes that fit 30 trainings into ten minutes of two cores. A world where most groups earn nothing at first needs them replaced; the other one does not. Settings are the same
 * for all estimators. They were chosen on training tasks by seeds 101 to 103 (`--first-seed 101 --measure train`). Success there after 8 updates of TextCraft, from
 * 37 %: in mini-batches of 32 at a rate of 0.05, undiscounted, GRPO 53 % and REINFORCE++ 34 %; in mini-batches of 8 at 0.1, discounted by 0.8 where an
 * estimator discounts, GRPO 71 %, PPO 79 % and REINFORCE++ 74 %. Without a discount a reward is worth as much to the first of 20 steps as to the last.
 */
export const WORLDS = {
  textcraft: {
    updates: 8,
    every: 4,
    groupsPerBatch: 16,
    groupSize: 4,
    zeroVariance: 'keep',
    maxSteps: 20,
    testTasks: 25,
    learningRate: 0.1,
    miniBatch: 8,
    gamma: 0.8,
  },
  'search-qa': {
    updates: 12,
    every: 6,
    groupsPerBatch: 4,
    groupSize: 8,
    zeroVariance: 'reject',
    maxSteps: 4,
    testTasks: 25,
    learningRate: 0.1,
    miniBatch: 8,
    gamma: 0.8,
  },
} as const;
export type World = keyof typeof WORLDS;
export const WORLD_NAMES = Object.keys(WORLDS) as readonly World[]; // the keys of the object above
export const ESTIMATORS = ['grpo', 'ppo', 'reinforce++'] as const;
export type Estimator = (typeof ESTIMATORS)[number];

/** One training of the bench. */
export interface Lesson {
  readonly world: World;
  readonly estimator: Estimator;
  readonly seed: number;
}

/** What a run of the bench may change of every training. */
export interface Changes {
  readonly quick: boolean;
  /** Whose tasks success is measured on. Settings are chosen on `train`, so that `test` stays unseen until it is reported. */
  readonly measuredOn: 'test' | 'train';
  /** In place of our settings, by name. */
  readonly settings: Readonly<Record<string, unknown>>;
}

export interface Learnt extends Lesson {
  readonly plan: TrainPlan;
  /** Success on the measured tasks, by version. */
  readonly measured: readonly { readonly version: number; readonly success: number }[];
  readonly ledger: { readonly produced: number; readonly trained: number; readonly difference: number };
  /** SHA-256 of the last weights, hex. */
  readonly weights: string;
  readonly seconds: number;
}

/** Writes the plan of a training: all that determines its weights. */
export function planOf({ world, estimator, seed }: Lesson, { quick, measuredOn, settings }: Changes): TrainPlan {
  const { updates, every, testTasks, learningRate, miniBatch, gamma, ...sizes } = WORLDS[world];
  const few = quick ? 2 : updates;
  return trainPlan.parse({
    ...{ policyId: `${world}-${estimator}-${seed}`, environment: world, split: 'train', tasks: null },
    settings: { ...discounted(LINEAR_SETTINGS[estimator], gamma), learningRate, miniBatch, ...settings },
    ...{ ...sizes, updates: few, mode: 'strict', maxStaleness: 0, temperature: 1 },
    ...{ taskSeed: 0, seed },
    evaluation: { split: measuredOn, tasks: testTasks, rollouts: 2, every: Math.min(few, every) },
  });
}

/** Puts the discount into an estimator that has one. */
function discounted(settings: TrainingSettings, gamma: number): TrainingSettings {
  const { objective } = settings;
  if (objective.kind !== 'policy-gradient' || !('gamma' in objective.estimator.options)) return settings;
  const { name, options } = objective.estimator;
  return { ...settings, objective: { ...objective, estimator: { name, options: { ...options, gamma } } } };
}

/** Says what came of a training. */
export function learntOf(
  lesson: Lesson,
  plan: TrainPlan,
  { evaluations, ledger, weights }: TrainedPolicy,
  seconds: number,
): Learnt {
  const { produced, trained, difference } = ledger;
  return {
    ...lesson,
    plan,
    measured: evaluations.map(({ version, evaluation }) => ({ version, success: evaluation.successRate })),
    ledger: { produced, trained, difference },
    ...{ weights, seconds },
  };
}
