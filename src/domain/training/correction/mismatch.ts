import { at, type Rows, rowAt } from '../rows/rows.ts';
import { startSum } from '../statistics/masked.ts';

/** The log-probs of the sampled tokens of each row: by the trainer at the start of an update, and as recorded; null where none are. */
export interface SampledLogProbs {
  readonly trainer: Rows;
  readonly recorded: readonly (ArrayLike<number> | null)[];
  /** The oldest version that sampled a part of each row. */
  readonly versions: readonly number[];
}

/** Largest mean k3 of the tokens that the trained version sampled; null for none. */
export interface MismatchBounds {
  /** Beyond it an update says so. */
  readonly warn: number | null;
  /** Beyond it a batch is not trained on. */
  readonly stop: number | null;
}

const LOG_BOUND = 20;

/**
 * Measures the recorded log-probs against the trainer's over all rows that have them (`rollout…`), and over those that the trained
 * version sampled (`sampler…`): these differ by engine and precision alone, the others by training too. Each has the mean
 * log-ratio (K1), the k3 estimate of KL(sampler ‖ trainer) (K3) and the largest ratio of a token (MaxRatio). Empty where nothing is
 * recorded.
 */
export function measureMismatch(probs: SampledLogProbs, version: number): Readonly<Record<string, number>> {
  return { ...measure('rollout', probs, () => true), ...measure('sampler', probs, (row) => probs.versions[row] === version) };
}

/** Finds whether the sampler is farther from the trainer than a bound allows. */
export function findMismatch(
  metrics: Readonly<Record<string, number>>,
  { warn, stop }: MismatchBounds,
): { readonly kind: 'warn' | 'stop'; readonly reason: string } | null {
  const { samplerK3: k3 = 0, samplerMaxRatio: ratio = 1 } = metrics;
  const beyond = (bound: number) =>
    `the recorded log-probs of the version that is trained differ from the trainer's by a mean k3 of ${k3.toPrecision(3)}, more than ${bound} ` +
    `(largest ratio of a token ${ratio.toPrecision(3)}): see that the server holds the weights of that version and returns log-probs of what it draws from`;
  if (stop !== null && k3 > stop)
    return {
      kind: 'stop',
      reason: `${beyond(stop)}; another policy may declare another mismatch.stop`,
    };
  if (warn !== null && k3 > warn) return { kind: 'warn', reason: beyond(warn) };
  return null;
}

function measure(
  name: 'rollout' | 'sampler',
  { trainer, recorded }: SampledLogProbs,
  counts: (row: number) => boolean,
): Readonly<Record<string, number>> {
  const [k1, k3] = [startSum(), startSum()];
  let [tokens, largest] = [0, 0];
  for (const [row, own] of recorded.entries()) {
    if (own === null || !counts(row)) continue;
    for (let t = 0; t < own.length; t++) {
      const x = Math.min(Math.max(at(rowAt(trainer, row), t) - at(own, t), -LOG_BOUND), LOG_BOUND);
      k1.add(-x);
      k3.add(Math.exp(x) - 1 - x);
      largest = Math.max(largest, Math.abs(x));
      tokens += 1;
    }
  }
  if (tokens === 0) return {};
  return {
    [`${name}K1`]: k1.total() / tokens,
    [`${name}K3`]: k3.total() / tokens,
    [`${name}MaxRatio`]: Math.exp(largest),
  };
}
