import { z } from 'zod';
import { sequenceRatios } from '../../domain/training/losses/gspo.ts';
import {
  AGGREGATION_MODES,
  type Aggregation,
  aggregate,
  aggregationWeights,
  type PolicyLossValue,
  TOKEN_MEAN,
} from '../../domain/training/losses/policy-loss.ts';
import { configurePolicyLoss } from '../../domain/training/losses/policy-losses.ts';
import { byVariant, masksShape, type RlCase, rlCheck, rowsShape } from '../rl-vectors.ts';

const columns = z.object({ old_log_prob: rowsShape, log_prob: rowsShape, advantages: rowsShape, response_mask: masksShape });
const clip = z.object({ clip_ratio_low: z.number(), clip_ratio_high: z.number() });
const dual = clip.extend({ clip_ratio_c: z.number() });
const cispo = z.object({ clip_ratio: z.number() });
const sapo = z.object({ tau_pos: z.number(), tau_neg: z.number() });
const sharded = z.object({
  loss_mat: rowsShape,
  loss_mask: masksShape,
  dp_size: z.int(),
  batch_num_tokens: z.int(),
  global_batch_size: z.int(),
  loss_scale_factor: z.number(),
});

/**
 * Judges `06-policy-loss`: token losses, metrics and every aggregation, with own and global denominators, now and as verl ≤ 0.6
 * had them.
 */
export const rlPolicyLossCheck = rlCheck(/^06-policy-loss.*\.json$/, {
  ppo_policy_loss: byVariant({
    'vanilla with dual clip': (given) => dualClip(given, 'clamped'),
    'log-ratio clamped to +-20 (verl>=0.4.1)': (given) => dualClip(given, 'clamped'),
    'no clamp (verl<=0.4.0, Agent-R1 legacy)': (given) => dualClip(given, 'unclamped'),
    'one fully masked row': (given) => dualClip(given, 'clamped'),
  }),
  agg_loss({ inputs }) {
    const given = sharded.parse(inputs);
    const denominators = {
      kind: 'global',
      tokens: given.batch_num_tokens,
      rows: given.global_batch_size,
      shards: given.dp_size,
    } as const;
    return Object.fromEntries(
      AGGREGATION_MODES.map((mode) => {
        const aggregation: Aggregation = {
          mode,
          denominators,
          lossScale: summed(given.loss_scale_factor, denominators),
          emptyRows: 'left-out',
        };
        return [mode, aggregate(given.loss_mat, aggregationWeights(given.loss_mask, aggregation))];
      }),
    );
  },
  gspo_policy_loss(given) {
    const { clip_ratio_low: clipLow, clip_ratio_high: clipHigh } = clip.parse(given.inputs);
    const { loss, metrics } = evaluate(given, 'gspo', { clipLow, clipHigh }, TOKEN_MEAN);
    const { log_prob: logProbs, old_log_prob: oldLogProbs, response_mask: masks } = columns.parse(given.inputs);
    return { seq_ratio: sequenceRatios({ logProbs, oldLogProbs, masks }), pg_loss: loss, pg_clipfrac: metrics.clipFraction };
  },
  cispo_policy_loss(given) {
    const { clip_ratio: ratio } = cispo.parse(given.inputs);
    return { pg_loss: evaluate(given, 'cispo', { clipLow: ratio, clipHigh: ratio }, TOKEN_MEAN).loss };
  },
  gpg_policy_loss(given) {
    const inputs = { old_log_prob: given.inputs.log_prob, ...given.inputs }; // it has no ratio, and its cases no old log-probs
    return { pg_loss: evaluate({ ...given, inputs }, 'gpg', {}, TOKEN_MEAN).loss };
  },
  sapo_policy_loss(given) {
    const { tau_pos: tauPositive, tau_neg: tauNegative } = sapo.parse(given.inputs);
    return { pg_loss: evaluate(given, 'sapo', { tauPositive, tauNegative }, TOKEN_MEAN).loss };
  },
});

/** Up to verl 0.8 the sums of rows were divided by the scale alone; since 0.9 their mean over the rows of all workers is. */
function summed(scale: number, { rows, shards }: { readonly rows: number; readonly shards: number }): number {
  return (scale * shards) / rows;
}

function dualClip(given: RlCase, logRatios: 'clamped' | 'unclamped'): Record<string, unknown> {
  const { clip_ratio_low: clipLow, clip_ratio_high: clipHigh, clip_ratio_c: ceiling } = dual.parse(given.inputs);
  const options = { clipLow, clipHigh, dualClip: ceiling, logRatios };
  const { tokenLosses, metrics } = evaluate(given, 'dual_clip', options, TOKEN_MEAN);
  const { response_mask: masks } = columns.parse(given.inputs);
  const everyMode = (emptyRows: Aggregation['emptyRows']) => {
    const rows = masks.filter((mask) => emptyRows === 'counted' || mask.includes(1)).length;
    const lossScale = summed(masks[0]?.length ?? 0, { rows, shards: 1 });
    const lossOf = (mode: Aggregation['mode']) =>
      evaluate(given, 'dual_clip', options, { ...TOKEN_MEAN, mode, lossScale, emptyRows }).loss;
    return Object.fromEntries(AGGREGATION_MODES.map((mode) => [mode, lossOf(mode)]));
  };
  return {
    pg_losses: tokenLosses,
    pg_clipfrac: metrics.clipFraction,
    pg_clipfrac_lower: metrics.clipFractionLower,
    ppo_kl: metrics.oldKl,
    ...('pg_loss' in given.expected ? { pg_loss: everyMode('left-out') } : {}),
    ...('pg_loss_verl<=0.6' in given.expected ? { 'pg_loss_verl<=0.6': everyMode('counted') } : {}),
  };
}

function evaluate(
  { inputs }: RlCase,
  name: string,
  options: Readonly<Record<string, unknown>>,
  aggregation: Aggregation,
): PolicyLossValue {
  const { log_prob: logProbs, old_log_prob: oldLogProbs, advantages, response_mask: masks } = columns.parse(inputs);
  const configured = configurePolicyLoss(name, options);
  if (configured.kind === 'refused') throw new Error(configured.reason);
  const value = configured.policyLoss.evaluate({ oldLogProbs, logProbs, advantages, masks, weights: null }, aggregation);
  if (value.kind === 'refused') throw new Error(value.reason);
  return value;
}
