import {
  type ChosenOptions,
  chooseOptions,
  type Mode,
  type OptionRules,
  type RefusedOption,
  refuseOption,
} from '../method-options.ts';
import { at, buildRows, countTrained, findMisfit, type Masks, type Rows, rowAt } from '../rows/rows.ts';
import { MASKED_EPSILON, maskedMean, startSum, sumOf } from '../statistics/masked.ts';

/** What a policy loss is computed from, each a number per token. Only trained tokens count. */
export interface PolicyLossInput {
  /** log π of the policy that is being updated. */
  readonly logProbs: Rows;
  /** log π of the policy at the start of the update. */
  readonly oldLogProbs: Rows;
  readonly advantages: Rows;
  readonly masks: Masks;
  /** Importance weights of the rollout correction, which multiply the token losses; null for none. */
  readonly weights: Rows | null;
}

export interface PolicyLossValue {
  readonly kind: 'loss';
  readonly loss: number;
  /** The loss of each token before aggregation, also outside the mask. */
  readonly tokenLosses: Rows;
  /** d loss / d logProb of each token; 0 outside the mask. What is stop-gradient upstream is constant here. */
  readonly gradient: Rows;
  readonly metrics: Readonly<Record<string, number>>;
}

/** The loss and slope (d loss / d logProb) of one token. */
export interface TokenLoss {
  readonly loss: number;
  readonly slope: number;
}

export interface ConfiguredPolicyLoss {
  readonly name: string;
  readonly revision: string;
  readonly mode: Mode;
  /** Computes loss and gradient; refuses columns that do not fit the masks and log-probs that are not finite. */
  evaluate(input: PolicyLossInput, aggregation: Aggregation): PolicyLossValue | RefusedOption;
}

export interface PolicyLoss {
  readonly name: string;
  readonly revision: string;
  readonly options: OptionRules;
  configure(
    given: Readonly<Record<string, unknown>>,
  ): { readonly kind: 'configured'; readonly policyLoss: ConfiguredPolicyLoss } | RefusedOption;
}

interface Definition<R extends OptionRules> {
  readonly name: string;
  readonly revision: string;
  readonly options: R;
  /** Where the published loss fixes its aggregation whatever was asked for. */
  aggregation?(asked: Aggregation): Aggregation;
  /** Prepares what all tokens share and answers the loss of one. */
  tokenLoss(input: PolicyLossInput, options: ChosenOptions<R>): (row: number, t: number) => TokenLoss;
  metrics(input: PolicyLossInput, tokenLosses: Rows, options: ChosenOptions<R>): Readonly<Record<string, number>>;
}

/** Makes a policy loss of the loss of one token: weights, aggregation and the chain rule are the same for all. */
export function definePolicyLoss<const R extends OptionRules>(definition: Definition<R>): PolicyLoss {
  const { name, revision, options: rules } = definition;
  return {
    name,
    revision,
    options: rules,
    configure(given) {
      const chosen = chooseOptions(rules, given);
      if (chosen.kind === 'refused') return refuseOption(`policy loss ${name}: ${chosen.reason}`);
      const { options, mode } = chosen;
      const evaluate = (input: PolicyLossInput, aggregation: Aggregation): PolicyLossValue | RefusedOption => {
        const malformed = findMalformed(input);
        if (malformed !== null) return refuseOption(`${name} cannot take these rows: ${malformed}`);
        const lossOf = definition.tokenLoss(input, options);
        const shares = aggregationWeights(input.masks, definition.aggregation?.(aggregation) ?? aggregation);
        const slopes: Float64Array[] = input.masks.map((mask) => new Float64Array(mask.length));
        const tokenLosses = buildRows(input.masks, (row, t) => {
          const { loss, slope } = lossOf(row, t);
          const weight = input.weights === null ? 1 : at(rowAt(input.weights, row), t);
          const share = at(rowAt(shares, row), t);
          rowAt(slopes, row)[t] = share === 0 ? 0 : share * weight * slope;
          return loss * weight;
        });
        const metrics = definition.metrics(input, tokenLosses, options);
        return { kind: 'loss', loss: aggregate(tokenLosses, shares), tokenLosses, gradient: slopes, metrics };
      };
      return { kind: 'configured', policyLoss: { name, revision, mode, evaluate } };
    },
  };
}

function findMalformed({ masks, weights, ...columns }: PolicyLossInput): string | null {
  for (const [name, rows] of Object.entries({ ...columns, ...(weights === null ? {} : { weights }) })) {
    const misfit = findMisfit(name, rows, masks);
    if (misfit !== null) return misfit;
    const broken = masks.findIndex((mask, row) => rowAt(rows, row).some((value, t) => mask[t] === 1 && !Number.isFinite(value)));
    if (broken !== -1) return `row ${broken} of ${name} holds a number that is not finite on a trained token`;
  }
  return null;
}

/** verl ≥ 0.4.1 clamps differences of log-probs to ±20 before it exponentiates them. */
export const LOG_RATIO_BOUND = 20;

export function clamp(x: number, low: number, high: number): number {
  return Math.min(Math.max(x, low), high);
}

/** new − old log-prob of a token, clamped or not (verl ≤ 0.4.0). Where the clamp holds it the slope is 0. */
export function logRatio(
  { logProbs, oldLogProbs }: Pick<PolicyLossInput, 'logProbs' | 'oldLogProbs'>,
  row: number,
  t: number,
  bound: number,
): { readonly d: number; readonly slope: number } {
  const raw = at(rowAt(logProbs, row), t) - at(rowAt(oldLogProbs, row), t);
  return { d: clamp(raw, -bound, bound), slope: Math.abs(raw) <= bound ? 1 : 0 };
}

/** Averages 1 over the trained tokens of which something is true. */
export function shareOfTokens(masks: Masks, is: (row: number, t: number) => boolean): number {
  return maskedMean(
    buildRows(masks, (row, t) => (is(row, t) ? 1 : 0)),
    masks,
  );
}

/** mean(−d) over the trained tokens: the k1 estimate of KL(old ‖ new). */
export function meanNegativeLogRatio(input: PolicyLossInput, bound: number): number {
  const negative: Rows = buildRows(input.masks, (row, t) => -logRatio(input, row, t, bound).d);
  return maskedMean(negative, input.masks);
}

/** How token losses become one number. Each is linear in them, so each is a weight per token. */
export const AGGREGATION_MODES = ['token-mean', 'seq-mean-token-sum', 'seq-mean-token-mean', 'seq-mean-token-sum-norm'] as const;
export type AggregationMode = (typeof AGGREGATION_MODES)[number];

/**
 * What the sums are divided by. `own`: the tokens and rows at this call. `global`: those of the whole batch of which these rows
 * are one micro-batch on one of `shards` workers whose gradients are averaged; then the loss does not depend on how the batch was
 * cut.
 */
type Denominators =
  | { readonly kind: 'own' }
  | { readonly kind: 'global'; readonly tokens: number; readonly rows: number; readonly shards: number };

export interface Aggregation {
  readonly mode: AggregationMode;
  readonly denominators: Denominators;
  /**
   * What `seq-mean-token-sum-norm` divides the mean of the rows' sums by (Dr. GRPO): one number for a whole training, such as the
   * longest reply that is allowed. A width of rows would weigh mini-batches by their longest row. Other modes ignore it.
   */
  readonly lossScale: number;
  /**
   * Rows without a trained token: left out of the row count (verl ≥ 0.7), or counted and divided 0/0, so that one padding row
   * makes the mean NaN (verl ≤ 0.6).
   */
  readonly emptyRows: 'left-out' | 'counted';
}

export const TOKEN_MEAN: Aggregation = {
  mode: 'token-mean',
  denominators: { kind: 'own' },
  lossScale: 1,
  emptyRows: 'left-out',
};

/**
 * Returns each token's share in the aggregated loss: loss = Σ w·L, d loss / d L = w. Source: verl `agg_loss`. 0 outside the mask,
 * and everywhere without a trained token.
 */
export function aggregationWeights(masks: Masks, aggregation: Aggregation): Float64Array[] {
  const counts = masks.map(countTrained);
  const { mode, denominators, lossScale, emptyRows } = aggregation;
  const ownRows = emptyRows === 'counted' ? masks.length : counts.filter((count) => count > 0).length;
  const ownTokens = sumOf(counts) + (emptyRows === 'counted' ? MASKED_EPSILON : 0);
  const [tokens, rows, shards] =
    denominators.kind === 'own' ? [ownTokens, ownRows, 1] : [denominators.tokens, denominators.rows, denominators.shards];
  const weightOf = (count: number): number => {
    switch (mode) {
      case 'token-mean':
        return shards / tokens;
      case 'seq-mean-token-sum':
        return shards / rows;
      case 'seq-mean-token-mean':
        return shards / (rows * (emptyRows === 'counted' ? count : count + MASKED_EPSILON));
      case 'seq-mean-token-sum-norm':
        return shards / (rows * lossScale);
    }
  };
  return masks.map((mask, row) => {
    const count = rowAt(counts, row);
    if (count === 0 && mode === 'seq-mean-token-mean' && emptyRows === 'counted')
      return new Float64Array(mask.length).fill(Number.NaN); // 0/0, as it was
    const weight = weightOf(count);
    return Float64Array.from(mask, (m) => (m === 0 ? 0 : weight));
  });
}

/** Σ w·L. A token without weight may hold anything, NaN as well. */
export function aggregate(losses: Rows, weights: Rows): number {
  const sum = startSum();
  for (const [row, own] of weights.entries()) {
    const values = rowAt(losses, row);
    for (const [t, weight] of own.entries()) if (weight !== 0) sum.add(weight * (values[t] ?? Number.NaN));
  }
  return sum.total();
}
