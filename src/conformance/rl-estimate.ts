import { z } from 'zod';
import type { Estimated } from '../domain/training/advantages/estimator.ts';
import { configureEstimator } from '../domain/training/advantages/estimators.ts';
import { type Refused, refused } from '../domain/training/options.ts';
import { masksShape, type RlCase, rowsShape } from './rl-vectors.ts';

const names = z.array(z.string());
const numbers = z.array(z.number());
const shape = z.object({
  token_level_rewards: rowsShape,
  response_mask: masksShape,
  index: names.optional(),
  trajectory_uids: names.optional(),
  traj_index: names.optional(),
  step_indices: numbers.optional(),
  values: rowsShape.optional(),
  anchor_obs: names.optional(),
  reward_baselines: numbers.optional(),
});

/**
 * Returns a case to the estimator that runs would use, through the registry. Rows without a group or a trajectory are one group,
 * each row its own trajectory.
 */
export function estimateCase(
  { inputs }: RlCase,
  estimator: string,
  options: Readonly<Record<string, unknown>>,
): Estimated | Refused {
  const configured = configureEstimator(estimator, options);
  if (configured.kind === 'refused') return refused(configured.reason);
  const { token_level_rewards: rewards, response_mask: masks, ...columns } = shape.parse(inputs);
  const trajectories = columns.trajectory_uids ?? columns.traj_index ?? rewards.map((_, row) => `row ${row}`);
  const seen = new Map<string, number>();
  const inOrder = trajectories.map((trajectory) => {
    const step = seen.get(trajectory) ?? 0;
    seen.set(trajectory, step + 1);
    return step;
  });
  return configured.estimator.estimate({
    rewards,
    masks,
    trajectories,
    groups: columns.index ?? rewards.map(() => 'all'),
    steps: columns.step_indices ?? inOrder,
    values: columns.values ?? null,
    anchors: columns.anchor_obs ?? null,
    bootstraps: null,
    stepRewards: null,
    stepParts: null,
    greedyScores: columns.reward_baselines ?? null,
    oldLogProbs: null,
    squaredProbs: null,
    rolloutWeights: null,
  });
}
