import { at, type Masks, type Rows, rowAt } from '../rows/rows.ts';
import type { StepOrder } from './step-gae.ts';
import { orderTrajectories } from './trajectory-order.ts';

/**
 * What an untrained token does to the sum that runs backwards. `shipped`: the sum is multiplied by the mask after each token,
 * which was meant to reset it after EOS and **erases the outcome before every observation** (verl 0.2 to 0.8, issue 7278).
 * `repaired`: it passes unchanged (verl PR 7300). `compact`: the same on packed rows, with 0 on untrained tokens (Agent-R1
 * legacy).
 */
export type ReturnsVariant = 'repaired' | 'shipped' | 'compact';

/**
 * G_t = r_t + γ G_{t+1}, from the last token to the first (REINFORCE++, Hu 2025, as in verl). @param order where rows are steps:
 * what is to come of the later steps of a trajectory is carried into the earlier ones, as if they were one row; null keeps every
 * row by itself.
 */
export function tokenReturns(
  rewards: Rows,
  masks: Masks,
  gamma: number,
  variant: ReturnsVariant,
  order: StepOrder | null,
): Float64Array[] {
  const returns = masks.map((mask) => new Float64Array(mask.length));
  for (const rows of order === null ? masks.map((_, row) => [row]) : orderTrajectories(order.trajectories, order.steps)) {
    let running = 0;
    for (const row of rows.toReversed()) {
      const [mask, own] = [rowAt(masks, row), rowAt(rewards, row)];
      for (let t = mask.length - 1; t >= 0; t--) {
        const trained = mask[t] === 1;
        if (trained || variant === 'shipped') running = at(own, t) + gamma * running;
        rowAt(returns, row)[t] = trained || variant !== 'compact' ? running : 0;
        if (!trained && variant === 'shipped') running = 0;
      }
    }
  }
  return returns;
}

/** R_k = r_k + γ R_{k+1} along the steps of each trajectory; one number for each row. */
export function stepReturns(stepRewards: ArrayLike<number>, { trajectories, steps }: StepOrder, gamma: number): Float64Array {
  const returns = new Float64Array(stepRewards.length);
  for (const rows of orderTrajectories(trajectories, steps)) {
    let running = 0;
    for (const row of rows.toReversed()) {
      running = at(stepRewards, row) + gamma * running;
      returns[row] = running;
    }
  }
  return returns;
}
