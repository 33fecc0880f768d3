import { LINEAR_SETTINGS } from '../../src/training/backends/training-settings.ts';
import { type TrainPlan, trainPlan } from '../../src/usecases/train/train-plan.ts';
import type { TrainedPolicy } from '../../src/usecases/train/training.ts';

/**
 * Sizes that fit 30 trainings into ten minutes of two cores. A world where most groups earn nothing at first needs them replaced;
 * the other one does not.
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
  },
  'search-qa': {
    updates: 12,
    every: 6,
    groupsPerBatch: 4,
    groupSize: 8,
    zeroVariance: 'reject',
    maxSteps: 4,
    testTasks: 25,
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

export interface Trained extends Lesson {
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
  const { updates, every, testTasks, ...sizes } = WORLDS[world];
  const few = quick ? 2 : updates;
  return trainPlan.parse({
    policyId: `${world}-${estimator}-${seed}`,
    environment: world,
    split: 'train',
    tasks: null,
    settings: { ...LINEAR_SETTINGS[estimator], ...settings },
    ...sizes,
    updates: few,
    mode: 'strict',
    maxStaleness: 0,
    temperature: 1,
    taskSeed: 0,
    seed,
    evaluation: { split: measuredOn, tasks: testTasks, rollouts: 2, every: Math.min(few, every) },
  });
}

/** Describes the result of a training. */
export function trainedOf(
  lesson: Lesson,
  plan: TrainPlan,
  { evaluations, ledger, weights }: TrainedPolicy,
  seconds: number,
): Trained {
  const { produced, trained, difference } = ledger;
  return {
    ...lesson,
    plan,
    measured: evaluations.map(({ version, evaluation }) => ({ version, success: evaluation.successRate })),
    ledger: { produced, trained, difference },
    weights,
    seconds,
  };
}
