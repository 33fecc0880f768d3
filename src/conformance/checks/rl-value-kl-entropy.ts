import { z } from 'zod';
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
import { TOKEN_MEAN } from '../../domain/training/losses/policy-loss.ts';
import { valueLoss } from '../../domain/training/losses/value-loss.ts';
import { at, rowAt } from '../../domain/training/rows/rows.ts';
import { byVariant, masksShape, type RlCase, rlCheck, rowsShape } from '../rl-vectors.ts';

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
  const { loss, clipFraction } = valueLoss(input, { clip: given.cliprange_value, factor }, TOKEN_MEAN);
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
