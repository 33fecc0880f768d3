import { at, rowAt } from '../rows/rows.ts';
import type { Decay, GaeInput, RawGae } from './gae.ts';
import { scoreRows } from './row-scores.ts';
import { orderTrajectories } from './trajectory-order.ts';

/** How the rows of a batch make up trajectories. */
export interface StepOrder {
  readonly trajectories: readonly string[];
  readonly steps: ArrayLike<number>;
}

/** One number for each row, which is one step. */
export interface StepGae {
  readonly rewards: Float64Array;
  readonly raw: Float64Array;
  readonly returns: Float64Array;
}

/**
 * GAE over the steps of a trajectory (Agent-R1 v0.1, `gae`): a step's reward is Σ r·m of its row, its value the one at column 0;
 * δ and A as over tokens, from the last step to the first. Advantages are not whitened yet. The bootstrap is that of a
 * trajectory's last row.
 */
export function stepGae({ rewards, values, masks, bootstraps }: GaeInput, order: StepOrder, decay: Decay): StepGae {
  const stepRewards = scoreRows(rewards, masks, 'trained-tokens');
  const raw = new Float64Array(masks.length);
  const returns = new Float64Array(masks.length);
  for (const rows of orderTrajectories(order.trajectories, order.steps)) {
    let [nextValue, last] = [bootstrapOf(bootstraps, rows), 0];
    for (const row of rows.toReversed()) {
      const value = at(rowAt(values, row), 0);
      last = at(stepRewards, row) + decay.gamma * nextValue - value + decay.gamma * decay.lambda * last;
      nextValue = value;
      raw[row] = last;
      returns[row] = last + value;
    }
  }
  return { rewards: stepRewards, raw, returns };
}

/**
 * GAE over the trained tokens of all steps of a trajectory (Agent-R1 v0.1, `token_gae`): the state is carried from the first
 * token of step k + 1 to the last trained one of step k. A and returns are 0 on untrained tokens.
 */
export function tokenGaeAcrossSteps({ rewards, values, masks, bootstraps }: GaeInput, order: StepOrder, decay: Decay): RawGae {
  const raw = masks.map((mask) => new Float64Array(mask.length));
  const returns = masks.map((mask) => new Float64Array(mask.length));
  for (const rows of orderTrajectories(order.trajectories, order.steps)) {
    let [nextValue, last] = [bootstrapOf(bootstraps, rows), 0];
    for (const row of rows.toReversed()) {
      const mask = rowAt(masks, row);
      for (let t = mask.length - 1; t >= 0; t--) {
        if (mask[t] !== 1) continue;
        const value = at(rowAt(values, row), t);
        last = at(rowAt(rewards, row), t) + decay.gamma * nextValue - value + decay.gamma * decay.lambda * last;
        nextValue = value;
        rowAt(raw, row)[t] = last;
        rowAt(returns, row)[t] = last + value;
      }
    }
  }
  return { raw, returns };
}

function bootstrapOf(bootstraps: ArrayLike<number> | null, rows: readonly number[]): number {
  const last = rows.at(-1);
  return bootstraps === null || last === undefined ? 0 : at(bootstraps, last);
}
