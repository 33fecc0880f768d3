import { LINEAR_SETTINGS } from '../../src/training/backends/training-settings.ts';
import { type TrainPlan, trainPlan } from '../../src/usecases/train/train-plan.ts';

/**
 * The training that is disturbed: TextCraft, GRPO, strictly on-policy, so that its weights are determined by the plan. About 200
 * events an update.
 */
export function chaosPlan(seed: number, updates: number): TrainPlan {
  return trainPlan.parse({
    policyId: `chaos-${seed}`,
    environment: 'textcraft',
    split: 'train',
    tasks: 8,
    settings: LINEAR_SETTINGS.grpo,
    updates,
    groupsPerBatch: 2,
    groupSize: 3,
    zeroVariance: 'keep',
    mode: 'strict',
    maxStaleness: 0,
    temperature: 1,
    maxSteps: 10,
    taskSeed: 0,
    seed,
    evaluation: null,
  });
}
