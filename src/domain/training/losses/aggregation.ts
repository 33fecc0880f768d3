import { countTrained, type Masks, type Rows, rowAt } from '../rows/rows.ts';
import { MASKED_EPSILON } from '../statistics/masked.ts';
import { startSum, sumOf } from '../statistics/sum.ts';

/** How token losses become one number. Each is linear in them, so each is a weight per token. */
export const AGGREGATION_MODES = ['token-mean', 'seq-mean-token-sum', 'seq-mean-token-mean', 'seq-mean-token-sum-norm'] as const;
export type AggregationMode = (typeof AGGREGATION_MODES)[number];

/**
 * What the sums are divided by. `own`: the tokens and rows at this call. `global`: those of the whole batch of which these rows
 * are one micro-batch on one of `shards` workers whose gradients are averaged; then the loss does not depend on how the batch was
 * cut.
 */
export type Denominators =
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
