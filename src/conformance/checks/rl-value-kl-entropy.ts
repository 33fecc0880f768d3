import { z } from 'zod';
import { adjustController, type KlController } from '../../domain/training/kl/kl-controller.ts';
import { tokenKl } from '../../domain/training/kl/kl-penalty.ts';
import { penaliseRewards } from '../../domain/training/kl/penalise-rewards.ts';
import { TOKEN_MEAN } from '../../domain/training/losses/aggregation.ts';
import { entropyOfLogits, logSoftmax } from '../../domain/training/losses/entropy.ts';
import { valueLoss } from '../../domain/training/losses/value-loss.ts';
import { at, rowAt } from '../../domain/training/rows/rows.ts';
import { masksShape, rlCheck, rowsShape } from '../rl-vectors.ts';

const values = z.object({
  vpreds: rowsShape,
  returns: rowsShape,
  values: rowsShape,
  response_mask: masksShape,
  cliprange_value: z.number(),
});
const pair = z.object({ log_prob: rowsShape, ref_log_prob: rowsShape, kind: z.enum(['k1', 'k2', 'k3', 'abs']) });
const updates = z.array(z.tuple([z.number(), z.int()]));
const adaptive = z.object({ init: z.number(), target: z.number(), horizon: z.number(), updates });
const fixed = z.object({ init: z.number(), updates });
const penalised = z.object({
  token_level_scores: rowsShape,
  old_log_prob: rowsShape,
  ref_log_prob: rowsShape,
  kl_ratio: z.number(),
});

/** Judges `07-value-kl-entropy`: value loss with and without its half, KL estimators, controllers, entropy, KL in the reward. */
export const rlValueKlEntropyCheck = rlCheck(/^07-value-kl-entropy.*\.json$/, {
  value_loss({ inputs, variant }) {
    const given = values.parse(inputs);
    const input = { predictions: given.vpreds, values: given.values, returns: given.returns, masks: given.response_mask };
    const options = { clip: given.cliprange_value, factor: variant === '0.5 factor' ? 0.5 : 1 };
    const { loss, clipFraction } = valueLoss(input, options, TOKEN_MEAN);
    return { vf_loss: loss, vf_clipfrac: clipFraction };
  },
  kl_penalty({ inputs }) {
    const { log_prob: logProbs, ref_log_prob: refs, kind } = pair.parse(inputs);
    return { value: logProbs.map((row, i) => row.map((logProb, t) => tokenKl(kind, logProb, at(rowAt(refs, i), t)).value)) };
  },
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

function betas(start: KlController, steps: readonly (readonly [kl: number, rows: number])[]): number[] {
  let controller = start;
  return steps.map(([kl, rows]) => {
    controller = adjustController(controller, kl, rows);
    return controller.beta;
  });
}
