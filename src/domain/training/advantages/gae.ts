import { at, type Masks, type Rows, rowAt } from '../rows/rows.ts';

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
