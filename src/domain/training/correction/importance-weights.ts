import { at, buildRows, type Masks, type Rows, rowAt } from '../rows/rows.ts';
import { MASKED_EPSILON } from '../statistics/masked.ts';
import { sumOf } from '../statistics/sum.ts';

/** What a correction compares: log π of the trainer at the start of the update, and of the engine that sampled the tokens. */
export interface RolloutLogProbs {
  readonly trainer: Rows;
  readonly rollout: Rows;
  readonly masks: Masks;
}

export interface ImportanceOptions {
  /** One weight per token, or one for the whole response: unbiased, of higher variance. */
  readonly level: 'token' | 'sequence';
  /** Weights above this are cut to it (2.0 upstream). */
  readonly threshold: number;
  /** `batch` divides by the mean of the cut weights, over tokens or over sequences. */
  readonly normalise: 'none' | 'batch';
}

export interface ImportanceWeights {
  /** exp(log-ratio) of each token, cut; 0 outside the mask. They multiply the token losses and are constants in the gradient. */
  readonly weights: Rows;
  /** (mean w)² / mean w², in 0..1: what part of the sample the weights leave. Over tokens, or over sequences. 1 for none. */
  readonly effectiveSampleShare: number;
  /** The part of the weights that were cut. */
  readonly cutShare: number;
}

const LOG_BOUND = 20;
const LEAST_MEAN = 1e-8; // below it verl does not normalise

/**
 * Corrects for tokens that were sampled by another engine or an older version (truncated importance sampling; verl 0.8
 * `rollout_is`).
 */
export function importanceWeights({ trainer, rollout, masks }: RolloutLogProbs, options: ImportanceOptions): ImportanceWeights {
  const logs = buildRows(masks, (row, t, m) => (m === 0 ? 0 : at(rowAt(trainer, row), t) - at(rowAt(rollout, row), t)));
  const sequences = options.level === 'sequence' ? logs.map((row) => Math.exp(bounded(sumOf(row)))) : null;
  const free = buildRows(masks, (row, t, m) => {
    return m * (sequences === null ? Math.exp(bounded(at(rowAt(logs, row), t))) : at(sequences, row));
  });
  const cut = free.map((row) => row.map((weight) => Math.min(weight, options.threshold)));
  // One entry per weight that was really drawn: all trained tokens, or the rows that have any.
  const entries = entriesOf(cut, masks, options.level);
  const freeEntries = entriesOf(free, masks, options.level);
  const mean = sumOf(entries) / entries.length;
  // verl divides by a masked mean, whose count carries 1e-8; weights that are all next to nothing stay what they are.
  const batchMean = sumOf(entries) / (entries.length + MASKED_EPSILON);
  const divisor = options.normalise === 'batch' && batchMean > LEAST_MEAN ? batchMean : 1;
  return {
    weights: cut.map((row) => row.map((weight) => weight / divisor)),
    effectiveSampleShare: entries.length === 0 ? 1 : mean ** 2 / (sumOf(entries.map((w) => w * w)) / entries.length),
    cutShare: entries.length === 0 ? 0 : freeEntries.filter((w) => w > options.threshold).length / entries.length,
  };
}

function entriesOf(rows: Rows, masks: Masks, level: 'token' | 'sequence'): number[] {
  if (level === 'token') return rows.flatMap((row, i) => Array.from(row).filter((_w, t) => rowAt(masks, i)[t] === 1));
  return rows.flatMap((row, i) => {
    const first = rowAt(masks, i).indexOf(1);
    return first === -1 ? [] : [at(row, first)];
  });
}

function bounded(x: number): number {
  return Math.min(Math.max(x, -LOG_BOUND), LOG_BOUND);
}
