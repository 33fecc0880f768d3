import { z } from 'zod';
import { importanceWeights, parseRejectionRules, rejectDrifted } from '../../domain/training/correction/correct-rollouts.ts';
import {
  adjustController,
  KL_KINDS,
  type KlController,
  type KlKind,
  type KlLogRatios,
  penaliseRewards,
  tokenKl,
} from '../../domain/training/kl/kl-penalty.ts';
import { entropyOfLogits, logSoftmax } from '../../domain/training/losses/actor-loss.ts';
import { sequenceRatios } from '../../domain/training/losses/gspo.ts';
import {
  AGGREGATION_MODES,
  type Aggregation,
  aggregate,
  aggregationWeights,
  type PolicyLossValue,
} from '../../domain/training/losses/policy-loss.ts';
import { configurePolicyLoss } from '../../domain/training/losses/policy-losses.ts';
import { valueLoss } from '../../domain/training/losses/value-loss.ts';
import { positionIds } from '../../domain/training/rows/rollout-layout.ts';
import { at, type Masks, type Rows, rowAt } from '../../domain/training/rows/rows.ts';
import { maskedMean, maskedRowMeans, maskedSum, maskedVariance, maskedWhiten } from '../../domain/training/statistics/masked.ts';
import { beyond, declaredDefaults } from '../declared-defaults.ts';
import { byVariant, masksShape, maskUntilEnd, type RlCase, rlCheck, rowsShape } from '../rl-vectors.ts';

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

/** What the losses are published with: verl 0.8's actor, and the papers of GSPO and SAPO. */
const PUBLISHED = {
  dualClip: { clipLow: 0.2, clipHigh: 0.2, dualClip: 3, logRatios: 'clamped' },
  gspo: { clipLow: 3e-4, clipHigh: 4e-4 },
  cispo: { clipLow: 0.2, clipHigh: 0.2 },
  sapo: { tauPositive: 1, tauNegative: 1.05 },
  value: { clip: 0.5, factor: 0.5 },
};

/**
 * Judges `06-policy-loss`: token losses, metrics and every aggregation, with own and global denominators, now and as verl ≤ 0.6
 * had them. A case is handed over as far as it differs from the published defaults; the rest is what we declare by default.
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
    const { loss, metrics } = evaluate(given, 'gspo', beyond(PUBLISHED.gspo, { clipLow, clipHigh }));
    const { log_prob: logProbs, old_log_prob: oldLogProbs, response_mask: masks } = columns.parse(given.inputs);
    return { seq_ratio: sequenceRatios({ logProbs, oldLogProbs, masks }), pg_loss: loss, pg_clipfrac: metrics.clipFraction };
  },
  cispo_policy_loss(given) {
    const { clip_ratio: ratio } = cispo.parse(given.inputs);
    return { pg_loss: evaluate(given, 'cispo', beyond(PUBLISHED.cispo, { clipLow: ratio, clipHigh: ratio })).loss };
  },
  gpg_policy_loss(given) {
    const inputs = { old_log_prob: given.inputs.log_prob, ...given.inputs }; // it has no ratio, and its cases no old log-probs
    return { pg_loss: evaluate({ ...given, inputs }, 'gpg', {}).loss };
  },
  sapo_policy_loss(given) {
    const { tau_pos: tauPositive, tau_neg: tauNegative } = sapo.parse(given.inputs);
    return { pg_loss: evaluate(given, 'sapo', beyond(PUBLISHED.sapo, { tauPositive, tauNegative })).loss };
  },
});

/** Up to verl 0.8 the sums of rows were divided by the scale alone; since 0.9 their mean over the rows of all workers is. */
function summed(scale: number, { rows, shards }: { readonly rows: number; readonly shards: number }): number {
  return (scale * shards) / rows;
}

function dualClip(given: RlCase, logRatios: 'clamped' | 'unclamped'): Record<string, unknown> {
  const { clip_ratio_low: clipLow, clip_ratio_high: clipHigh, clip_ratio_c: ceiling } = dual.parse(given.inputs);
  const options = beyond(PUBLISHED.dualClip, { clipLow, clipHigh, dualClip: ceiling, logRatios });
  const { tokenLosses, metrics } = evaluate(given, 'dual_clip', options);
  const { response_mask: masks } = columns.parse(given.inputs);
  const everyMode = (emptyRows: Aggregation['emptyRows']) => {
    const rows = masks.filter((mask) => emptyRows === 'counted' || mask.includes(1)).length;
    const lossScale = summed(masks[0]?.length ?? 0, { rows, shards: 1 });
    const lossOf = (mode: Aggregation['mode']) => evaluate(given, 'dual_clip', options, { mode, lossScale, emptyRows }).loss;
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
  asked: Readonly<Record<string, unknown>>,
  aggregation: Partial<Aggregation> = {},
): PolicyLossValue {
  const declared = declaredDefaults(name);
  const { log_prob: logProbs, old_log_prob: oldLogProbs, advantages, response_mask: masks } = columns.parse(inputs);
  const configured = configurePolicyLoss(name, { ...declared.lossOptions, ...asked });
  if (configured.kind === 'refused') throw new Error(configured.reason);
  const value = configured.policyLoss.evaluate(
    { oldLogProbs, logProbs, advantages, masks, weights: null },
    { ...declared.aggregation, ...aggregation },
  );
  if (value.kind === 'refused') throw new Error(value.reason);
  return value;
}

const values = z.object({
  vpreds: rowsShape,
  returns: rowsShape,
  values: rowsShape,
  response_mask: masksShape,
  cliprange_value: z.number(),
});
/** verl's names for the estimators next to ours. */
const NAMES: Readonly<Record<string, KlKind>> = { kl: 'k1', mse: 'k2', low_var_kl: 'k3', 'low_var_kl+': 'k3+' };
const kind = z
  .string()
  .transform((name) => NAMES[name] ?? name)
  .pipe(z.enum(KL_KINDS as [KlKind, ...KlKind[]])); // written out, not empty
const pair = z.object({ log_prob: rowsShape, ref_log_prob: rowsShape, kind });
const updates = z.array(z.tuple([z.number(), z.int()]));
const adaptive = z.object({ init: z.number(), target: z.number(), horizon: z.number(), updates });
const fixed = z.object({ init: z.number(), updates });
const appliedKl = z.object({
  token_level_scores: rowsShape,
  old_log_probs: rowsShape,
  ref_log_prob: rowsShape,
  mask: masksShape,
  beta: z.number(),
  target: z.number(),
  horizon: z.number(),
});
const penalised = z.object({
  token_level_scores: rowsShape,
  old_log_prob: rowsShape,
  ref_log_prob: rowsShape,
  kl_ratio: z.number(),
});

/** Judges `07-value-kl-entropy`: value loss with and without its half, KL estimators, controllers, entropy, KL in the reward. */
export const rlValueKlEntropyCheck = rlCheck(/^07-value-kl-entropy.*\.json$/, {
  value_loss: byVariant({
    '0.5 factor': (given) => lossOfValues(given, 0.5),
    'verl 0.4.0 and its 0.3.1.dev snapshot in AgentOCR (no 0.5)': (given) => lossOfValues(given, 1),
  }),
  kl_penalty: byVariant({
    'verl 0.8': (given) => klOfTokens(given, 'clamped'),
    'verl <= 0.4.0 (no pre-clamp)': (given) => klOfTokens(given, 'unclamped'),
  }),
  apply_kl_penalty: byVariant({
    'k1, adaptive'({ inputs }) {
      const { beta, target, horizon, ...given } = appliedKl.parse(inputs);
      const columns = { scores: given.token_level_scores, logProbs: given.old_log_probs, refLogProbs: given.ref_log_prob };
      const { rewards, currentKl } = penaliseRewards({ ...columns, masks: given.mask }, 'k1', beta);
      const after = adjustController({ kind: 'adaptive', beta, target, horizon }, currentKl, given.mask.length);
      return { token_level_rewards: rewards, current_kl: currentKl, beta_after: after.beta };
    },
  }),
  adaptive_kl_controller({ inputs }) {
    const { init: beta, updates: steps, ...rule } = adaptive.parse(inputs);
    return { values: betas({ kind: 'adaptive', beta, ...rule }, steps) };
  },
  fixed_kl_controller({ inputs }) {
    const { init: beta, updates: steps } = fixed.parse(inputs);
    return { values: betas({ kind: 'fixed', beta }, steps) };
  },
  entropy_from_logits({ inputs }) {
    const { logits } = z.object({ logits: rowsShape }).parse(inputs);
    return { value: logits.map(entropyOfLogits), log_softmax_of_label_0: logits.map((row) => at(logSoftmax(row), 0)) };
  },
  compute_rewards({ inputs }) {
    const given = penalised.parse(inputs);
    const { rewards } = penaliseRewards(
      {
        scores: given.token_level_scores,
        logProbs: given.old_log_prob,
        refLogProbs: given.ref_log_prob,
        masks: given.token_level_scores.map((row) => new Uint8Array(row.length).fill(1)), // the legacy form has no mask
      },
      'k1',
      given.kl_ratio,
    );
    return { value: rewards };
  },
});

function lossOfValues({ inputs }: RlCase, factor: 0.5 | 1): Record<string, unknown> {
  const given = values.parse(inputs);
  const input = { predictions: given.vpreds, values: given.values, returns: given.returns, masks: given.response_mask };
  const { critic, aggregation } = declaredDefaults();
  const asked = beyond(PUBLISHED.value, { clip: given.cliprange_value, factor });
  const { loss, clipFraction } = valueLoss(input, { ...critic, ...asked }, aggregation);
  return { vf_loss: loss, vf_clipfrac: clipFraction };
}

function klOfTokens({ inputs }: RlCase, logRatios: KlLogRatios): Record<string, unknown> {
  const { log_prob: logProbs, ref_log_prob: refs, kind: estimate } = pair.parse(inputs);
  const kl = (logProb: number, row: number, t: number) => tokenKl(estimate, logProb, at(rowAt(refs, row), t), logRatios).value;
  return { value: logProbs.map((own, row) => own.map((logProb, t) => kl(logProb, row, t))) };
}

function betas(start: KlController, steps: readonly (readonly [kl: number, rows: number])[]): number[] {
  let controller = start;
  return steps.map(([kl, rows]) => {
    controller = adjustController(controller, kl, rows);
    return controller.beta;
  });
}

const correctionColumns = z.object({ train_log_prob: rowsShape, rollout_log_prob: rowsShape, response_mask: masksShape });
const weighed = correctionColumns.extend({
  level: z.enum(['token', 'sequence']),
  threshold: z.number(),
  batch_normalize: z.boolean(),
});
const judged = correctionColumns.extend({ option: z.string(), lower: z.number().nullable(), upper: z.number() });

/** Judges `08-rollout-correction`: truncated importance weights and the masks that rejection leaves. */
export const rlRolloutCorrectionCheck = rlCheck(/^08-rollout-correction.*\.json$/, {
  rollout_is_weights({ inputs }) {
    const { level, threshold, batch_normalize: normalised, ...given } = weighed.parse(inputs);
    const options = { level, threshold, normalise: normalised ? 'batch' : 'none' } as const;
    return { value: importanceWeights(read(given), options).weights };
  },
  rollout_rejection_mask({ inputs }) {
    const { option, lower, upper, ...given } = judged.parse(inputs);
    const rules = parseRejectionRules(option, lower === null ? `${upper}` : `${lower}_${upper}`);
    return { value: rejectDrifted(read(given), rules).masks };
  },
});

function read({ train_log_prob: trainer, rollout_log_prob: rollout, response_mask: masks }: z.infer<typeof correctionColumns>) {
  return { trainer, rollout, masks };
}

const number = z.union([z.number(), z.literal('NaN').transform(() => Number.NaN)]);
const masked = z.object({
  values: z.array(z.array(number).transform((values) => Float64Array.from(values))),
  mask: masksShape,
});
const integers = z.array(z.array(z.int()));
const ended = z.object({ ids: integers, eos: z.union([z.int(), z.array(z.int())]) });

/** Judges `01-masked-statistics`: sums, means, variances and whitening under a mask; masks from end tokens; position ids. */
export const rlMaskedStatisticsCheck = rlCheck(/^01-masked-statistics.*\.json$/, {
  masked_mean: byVariant({
    all: (given) => onMasked(given, maskedMean),
    rows: (given) => onMasked(given, maskedRowMeans),
  }),
  masked_sum: (given) => onMasked(given, maskedSum),
  masked_var: byVariant({
    biased: (given) => onMasked(given, (values, mask) => maskedVariance(values, mask, 'biased')),
    unbiased: (given) => onMasked(given, (values, mask) => maskedVariance(values, mask)),
    error({ inputs }) {
      const { values, mask } = masked.parse(inputs);
      try {
        return { value: maskedVariance(values, mask) };
      } catch (error) {
        return { error: error instanceof RangeError ? error.message : error };
      }
    },
  }),
  masked_whiten: byVariant({
    'shift_mean=true': (given) => onMasked(given, (values, mask) => maskedWhiten(values, mask)),
    'shift_mean=false': (given) => onMasked(given, (values, mask) => maskedWhiten(values, mask, 'kept')),
  }),
  response_mask_from_eos({ inputs }) {
    const { ids, eos } = ended.parse(inputs);
    const ends = typeof eos === 'number' ? [eos] : eos;
    return { value: ids.map((row) => maskUntilEnd(row, ends)) };
  },
  position_ids({ inputs }) {
    const { attention_mask: attention } = z.object({ attention_mask: integers }).parse(inputs);
    return {
      agent_r1_legacy: attention.map((row) => positionIds(row, 'zero')),
      verl: attention.map((row) => positionIds(row, 'repeat')),
    };
  },
});

function onMasked({ inputs }: RlCase, compute: (values: Rows, mask: Masks) => unknown): Record<string, unknown> {
  const { values, mask } = masked.parse(inputs);
  return { value: compute(values, mask) };
}
