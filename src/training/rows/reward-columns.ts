import type { BatchReward, BatchRows, BatchTrajectory } from './batch-rows.ts';
import type { Tensor } from './safetensors.ts';

/** The reward components of a batch by name, in one order; each has a column. */
export function componentsOf({ trajectories }: BatchRows): readonly string[] {
  const names = new Set<string>();
  for (const { rewards, steps } of trajectories) {
    for (const { component } of rewards) names.add(component);
    for (const step of steps) for (const { component } of step.rewards) names.add(component);
  }
  return [...names].sort();
}

/** Lays rewards out as [rows, components], in float64: they are the record's own numbers. 0 where a component says nothing. */
export function rewardTensor(name: string, components: readonly string[], rows: readonly (readonly BatchReward[])[]): Tensor {
  const places = new Map(components.map((component, place) => [component, place]));
  const data = new Float64Array(rows.length * components.length);
  for (const [row, rewards] of rows.entries()) {
    for (const { component, value } of rewards) {
      const place = row * components.length + (places.get(component) ?? 0); // `componentsOf` named every one
      data[place] = (data[place] ?? 0) + value;
    }
  }
  return { name, shape: [rows.length, components.length], data };
}

/** Lays the greedy scores of rows out as `reward_baselines` (ReMax); nothing where the estimator compares with none. */
export function baselineTensor(rows: readonly Pick<BatchTrajectory, 'greedyScore'>[]): readonly Tensor[] {
  const scores = rows.map(({ greedyScore }) => greedyScore);
  if (rows.length === 0 || !scores.every((score) => score !== undefined)) return [];
  return [{ name: 'reward_baselines', shape: [rows.length], data: Float64Array.from(scores) }];
}

/** Sums rewards by their weights, in their order. */
export function totalOf(rewards: readonly BatchReward[]): number {
  return rewards.reduce((sum, { value, weight }) => sum + weight * value, 0);
}
