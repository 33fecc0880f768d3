import { at, type Masks, type Rows, rowAt } from '../rows/rows.ts';
import { positionsByKey } from '../statistics/groups.ts';
import { scoreRows } from './members.ts';

/** Discount γ and trace decay λ, both 0..1. */
export interface Decay {
  readonly gamma: number;
  readonly lambda: number;
}

export interface GaeInput {
  readonly rewards: Rows;
  readonly values: Rows;
  readonly masks: Masks;
  /** The value after each row's last token; null is 0 everywhere. */
  readonly bootstraps: ArrayLike<number> | null;
}

/** Advantages before whitening, and returns = A + V. */
export interface RawGae {
  readonly raw: Float64Array[];
  readonly returns: Float64Array[];
}

/**
 * δ_t = r_t + γ V_{t+1} − V_t, A_t = δ_t + γλ A_{t+1} over **every** column (Schulman et al. 2016, eq. 16; verl ≤ 0.4.1 and the
 * first Agent-R1). The values of tool tokens, which nobody trained, enter the recursion and spoil all that precedes them.
 * For comparison only: the estimator refuses this form where a token that is not trained follows one that is.
 */
export function denseGae(input: GaeInput, decay: Decay): RawGae {
  return scan(input, (values, rewards, mask, bootstrap) => {
    const raw = new Float64Array(mask.length);
    let [nextValue, last] = [bootstrap, 0];
    for (let t = mask.length - 1; t >= 0; t--) {
      const delta = at(rewards, t) + decay.gamma * nextValue - at(values, t);
      last = delta + decay.gamma * decay.lambda * last;
      nextValue = at(values, t);
      raw[t] = last;
    }
    return raw;
  });
}

/**
 * The same over trained tokens: next value and running sum pass unchanged over the others (verl ≥ 0.5). A reward that is on
 * an untrained token is **lost**; there A repeats the carried sum and returns are that plus V.
 */
export function carryGae(input: GaeInput, decay: Decay): RawGae {
  return scan(input, (values, rewards, mask, bootstrap) => {
    const raw = new Float64Array(mask.length);
    let [nextValue, last] = [bootstrap, 0];
    for (let t = mask.length - 1; t >= 0; t--) {
      if (mask[t] === 1) {
        const delta = at(rewards, t) + decay.gamma * nextValue - at(values, t);
        last = delta + decay.gamma * decay.lambda * last;
        nextValue = at(values, t);
      }
      raw[t] = last;
    }
    return raw;
  });
}

/**
 * Packs the trained tokens, runs the recursion on the packed row and scatters it back (Agent-R1 legacy): on trained tokens equal
 * to carrying; A = 0 and returns = V on the others.
 */
export function compactGae(input: GaeInput, decay: Decay): RawGae {
  const carried = carryGae(input, decay);
  const raw = carried.raw.map((row, i) => row.map((a, t) => (rowAt(input.masks, i)[t] === 1 ? a : 0)));
  return { raw, returns: addRows(raw, input.values) };
}

/** Finds the first row where an untrained token follows a trained one: what dense GAE cannot bear. Null when there is none. */
export function findUntrainedSpan(masks: Masks): number | null {
  const row = masks.findIndex((mask) => {
    const first = mask.indexOf(1);
    return first !== -1 && mask.indexOf(0, first) !== -1;
  });
  return row === -1 ? null : row;
}

function scan(
  { rewards, values, masks, bootstraps }: GaeInput,
  recur: (values: Float64Array, rewards: Float64Array, mask: Uint8Array, bootstrap: number) => Float64Array,
): RawGae {
  const raw = masks.map((mask, i) => {
    return recur(rowAt(values, i), rowAt(rewards, i), mask, bootstraps === null ? 0 : at(bootstraps, i));
  });
  return { raw, returns: addRows(raw, values) };
}

function addRows(left: Rows, right: Rows): Float64Array[] {
  return left.map((row, i) => row.map((value, t) => value + at(rowAt(right, i), t)));
}

/** How the rows of a batch make up trajectories. */
export interface StepOrder {
  readonly trajectories: readonly string[];
  readonly steps: ArrayLike<number>;
}

/** One number for each row, which is one step. */
interface StepGae {
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

/** Lists the rows of each trajectory from its first step to its last; trajectories in the order in which they are first seen. */
export function orderTrajectories(trajectories: readonly string[], steps: ArrayLike<number>): readonly (readonly number[])[] {
  return [...positionsByKey(trajectories).values()].map((rows) => rows.sort((a, b) => at(steps, a) - at(steps, b)));
}

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
