import { at, buildRows, countTrained, type Masks, type Rows, rowAt } from '../rows/rows.ts';
import { MASKED_EPSILON, sumOf } from '../statistics/masked.ts';

export interface RolloutCorrection {
  readonly weights: ImportanceOptions | null;
  readonly rejection: readonly RejectionRule[];
}

interface CorrectedRollouts {
  /** The tokens that are trained on. */
  readonly masks: readonly Uint8Array[];
  /** What multiplies the token losses; null without weights. */
  readonly weights: Rows | null;
  readonly metrics: Readonly<Record<string, number>>;
}

/**
 * Corrects an update for tokens that were drawn by other log-probs than the trainer's: weights of all tokens first, then the
 * tokens that are left out, as verl 0.8 does both. Advantages are estimated before anything is left out: they say what happened,
 * and a group keeps its members.
 */
export function correctRollouts(input: RolloutLogProbs, { weights, rejection }: RolloutCorrection): CorrectedRollouts {
  const weighed = weights === null ? null : importanceWeights(input, weights);
  const rejected = rejection.length === 0 ? null : rejectDrifted(input, rejection);
  return {
    masks: rejected?.masks ?? input.masks,
    weights: weighed?.weights ?? null,
    metrics: {
      ...(weighed && { rolloutSampleShare: weighed.effectiveSampleShare, rolloutCutShare: weighed.cutShare }),
      ...(rejected && { rolloutRejectedTokens: rejected.rejectedTokens, rolloutRejectedRows: rejected.rejectedRows }),
    },
  };
}

/** What a correction compares: log π of the trainer at the start of the update, and of the engine that sampled the tokens. */
export interface RolloutLogProbs {
  readonly trainer: Rows;
  readonly rollout: Rows;
  readonly masks: Masks;
}

interface ImportanceOptions {
  /** One weight per token, or one for the whole response: unbiased, of higher variance. */
  readonly level: 'token' | 'sequence';
  /** Weights above this are cut to it (2.0 upstream). */
  readonly threshold: number;
  /** `batch` divides by the mean of the cut weights, over tokens or over sequences. */
  readonly normalise: 'none' | 'batch';
}

interface ImportanceWeights {
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

/** What is judged: each token, or a row by the sum, mean or maximum over its trained tokens. */
type RejectionLevel = 'token' | 'seq_sum' | 'seq_mean' | 'seq_max';

/**
 * One criterion, x = trainer − rollout log-prob. k1 = −x must lie between log(lower) and log(upper); k2 = ½x² and k3 = e^x − 1 −
 * x are at least 0 and have an upper bound only. There is no seq_max of k1: the maximum of a signed number says nothing about its
 * lower bound (nor does verl have it).
 */
type RejectionRule =
  | {
      readonly level: Exclude<RejectionLevel, 'seq_max'>;
      readonly statistic: 'k1';
      readonly lower: number;
      readonly upper: number;
    }
  | { readonly level: RejectionLevel; readonly statistic: 'k2' | 'k3'; readonly upper: number };

export interface Rejection {
  /** The new response masks: 1 where the old one is and every rule holds. */
  readonly masks: readonly Uint8Array[];
  /** The part of the trained tokens that was rejected. */
  readonly rejectedTokens: number;
  /** The part of the rows that lost every token they had. */
  readonly rejectedRows: number;
}

/**
 * Rejects tokens or rows whose log-probs drifted too far between engine and trainer (verl 0.8 `rollout_rs`); several rules are
 * AND-ed.
 */
export function rejectDrifted(input: RolloutLogProbs, rules: readonly RejectionRule[]): Rejection {
  const masks = input.masks.map((mask, row) => {
    const kept = Uint8Array.from(mask);
    for (const rule of rules) {
      const fits = judgeRow(input, row, rule);
      for (let t = 0; t < kept.length; t++) if (!fits(t)) kept[t] = 0;
    }
    return kept;
  });
  const before = input.masks.map(countTrained);
  const after = masks.map(countTrained);
  const rows = before.filter((count) => count > 0).length;
  const lost = before.filter((count, row) => count > 0 && after[row] === 0).length;
  return {
    masks,
    rejectedTokens: (sumOf(before) - sumOf(after)) / Math.max(sumOf(before), 1),
    rejectedRows: lost / Math.max(rows, 1),
  };
}

/**
 * Reads upstream's notation: options joined by commas (`token_k1,seq_max_k2`), bounds joined likewise, one for each or one for
 * all. For k1 `0.5_2` or a single v that means 1/v … v; for k2 and k3 a number.
 * @throws RangeError naming the part that is wrong.
 */
export function parseRejectionRules(options: string, bounds: string): readonly RejectionRule[] {
  const names = options.split(',').map((part) => part.trim());
  const limits = bounds.split(',').map((part) => part.trim());
  if (limits.length !== 1 && limits.length !== names.length) {
    throw new RangeError(`${names.length} options need ${names.length} bounds or one, not ${limits.length}`);
  }
  return names.map((name, i) => parseRule(name, limits[limits.length === 1 ? 0 : i] ?? ''));
}

function judgeRow({ trainer, rollout, masks }: RolloutLogProbs, row: number, rule: RejectionRule): (t: number) => boolean {
  const valueAt = (t: number): number => {
    const x = at(rowAt(trainer, row), t) - at(rowAt(rollout, row), t);
    return statisticOf(Math.min(Math.max(x, -LOG_BOUND), LOG_BOUND), rule.statistic);
  };
  if (rule.level === 'token') return (t) => isWithin(valueAt(t), rule);
  const values = Array.from(rowAt(masks, row)).flatMap((m, t) => (m === 1 ? [valueAt(t)] : []));
  if (values.length === 0) return () => true;
  const whole = isWithin(combine(values, rule.level), rule);
  return () => whole;
}

function statisticOf(x: number, statistic: RejectionRule['statistic']): number {
  switch (statistic) {
    case 'k1':
      return -x;
    case 'k2':
      return 0.5 * x * x;
    case 'k3':
      return Math.exp(x) - 1 - x;
  }
}

function combine(values: readonly number[], level: Exclude<RejectionLevel, 'token'>): number {
  switch (level) {
    case 'seq_sum':
      return sumOf(values);
    case 'seq_mean':
      return sumOf(values) / values.length;
    case 'seq_max':
      return values.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  }
}

function isWithin(value: number, rule: RejectionRule): boolean {
  if (rule.statistic !== 'k1') return value <= rule.upper;
  return value >= Math.log(rule.lower) && value <= Math.log(rule.upper);
}

function parseRule(name: string, bound: string): RejectionRule {
  const found = /^(token|seq_sum|seq_mean|seq_max)_(k1|k2|k3)$/.exec(name);
  const [low, high] = bound.split('_').map(Number);
  if (!found || name === 'seq_max_k1') throw new RangeError(`there is no rejection option ${JSON.stringify(name)}`);
  if (low === undefined || !(low > 0) || (high !== undefined && !(high >= low)) || bound.split('_').length > 2) {
    throw new RangeError(`the bound of ${name} is a positive number or lower_upper, not ${JSON.stringify(bound)}`);
  }
  const [, level, statistic] = found;
  if (statistic === 'k1') {
    // The pattern matches one of these levels; seq_max_k1 was refused above.
    return {
      level: level as Exclude<RejectionLevel, 'seq_max'>,
      statistic,
      lower: high === undefined ? 1 / low : low,
      upper: high ?? low,
    };
  }
  if (high !== undefined) throw new RangeError(`${name} has an upper bound only, not ${JSON.stringify(bound)}`);
  // the pattern matches one of these
  return { level: level as RejectionLevel, statistic: statistic === 'k2' ? 'k2' : 'k3', upper: low };
}
