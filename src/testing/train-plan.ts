import { LINEAR_SETTINGS } from '../training/backends/training-settings.ts';
import type { TrainPlan } from '../usecases/train/train-plan.ts';

/** A training of a few seconds: three batches of three groups of four rollouts in the generated search world. */
export function aTrainPlan(changes: Partial<TrainPlan> = {}): TrainPlan {
  return {
    policyId: 'searcher',
    environment: 'search-qa',
    split: 'train',
    tasks: 12,
    settings: LINEAR_SETTINGS.grpo,
    updates: 3,
    groupsPerBatch: 3,
    groupSize: 4,
    zeroVariance: 'keep',
    mode: 'strict',
    maxStaleness: 0,
    temperature: 1,
    maxSteps: 4,
    taskSeed: 0,
    seed: 5,
    evaluation: null,
    ...changes,
  };
}
