import { at, countTrained, rowAt } from '../rows/rows.ts';
import { sumOf } from '../statistics/sum.ts';
import type { RolloutLogProbs } from './importance-weights.ts';

/** What is judged: each token, or a row by the sum, mean or maximum over its trained tokens. */
export type RejectionLevel = 'token' | 'seq_sum' | 'seq_mean' | 'seq_max';

/**
 * One criterion, x = trainer − rollout log-prob. k1 = −x must lie between log(lower) and log(upper); k2 = ½x² and k3 = e^x − 1 −
 * x are at least 0 and have an upper bound only. There is no seq_max of k1: the maximum of a signed number says nothing about its
 * lower bound (nor does verl have it).
 */
export type RejectionRule =
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

const LOG_BOUND = 20;

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
