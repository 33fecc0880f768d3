import { z } from 'zod';
import { carryGae, compactGae, denseGae, findUntrainedSpan, type RawGae } from '../../domain/training/advantages/gae.ts';
import { stepGae, tokenGaeAcrossSteps } from '../../domain/training/advantages/step-gae.ts';
import { type Masks, spreadScalars } from '../../domain/training/rows/rows.ts';
import { maskedWhiten } from '../../domain/training/statistics/masked.ts';
import { standardise } from '../../domain/training/statistics/standardise.ts';
import { estimateCase } from '../rl-estimate.ts';
import { byVariant, masksShape, type RlCase, rlCheck, rowsShape } from '../rl-vectors.ts';

const tokens = z.object({
  token_level_rewards: rowsShape,
  values: rowsShape,
  response_mask: masksShape,
  gamma: z.number(),
  lam: z.number(),
});
const steps = tokens.extend({ trajectory_uids: z.array(z.string()), step_indices: z.array(z.int()) });

/**
 * Judges `02-gae`: raw advantages, returns and whitened advantages of every treatment of untrained tokens, by function and by the
 * estimator.
 */
export const rlGaeCheck = rlCheck(/^02-gae.*\.json$/, {
  gae: byVariant({
    'verl<=0.4.1 (dense)'(given) {
      const { masks, input, decay } = read(tokens.parse(given.inputs));
      // The estimator must refuse what the function shows to be wrong.
      const refusal = estimateCase(given, 'gae', { variant: 'dense', ...decay });
      if (findUntrainedSpan(masks) !== null && refusal.kind !== 'refused') throw new Error('dense GAE was not refused');
      return whiten(denseGae(input, decay), masks);
    },
    'verl>=0.5 (carry over mask 0)': (given) => judgeRows(given, 'carry', carryGae),
    'Agent-R1 legacy (compact action tokens)': (given) => judgeRows(given, 'compact', compactGae),
    'Agent-R1 v0.1 step level': judgeSteps,
  }),
  token_gae(given) {
    const parsed = steps.parse(given.inputs);
    const { masks, input, decay } = read(parsed);
    const order = { trajectories: parsed.trajectory_uids, steps: parsed.step_indices };
    return {
      ...whiten(tokenGaeAcrossSteps(input, order, decay), masks),
      ...advantagesOf(given, { variant: 'token-across-steps', ...decay }),
    };
  },
});

function judgeRows(given: RlCase, variant: 'carry' | 'compact', compute: typeof carryGae): Record<string, unknown> {
  const { masks, input, decay } = read(tokens.parse(given.inputs));
  return { ...whiten(compute(input, decay), masks), ...advantagesOf(given, { variant, ...decay }) };
}

function judgeSteps(given: RlCase): Record<string, unknown> {
  const parsed = steps.parse(given.inputs);
  const { masks, input, decay } = read(parsed);
  const { rewards, raw, returns } = stepGae(input, { trajectories: parsed.trajectory_uids, steps: parsed.step_indices }, decay);
  return {
    step_rewards: rewards,
    step_advantages_raw: raw,
    step_returns: returns,
    step_advantages: standardise(raw),
    returns: spreadScalars(returns, masks),
    ...advantagesOf(given, { variant: 'step', ...decay }),
  };
}

function read(parsed: z.infer<typeof tokens>) {
  const masks = parsed.response_mask;
  const input = { rewards: parsed.token_level_rewards, values: parsed.values, masks, bootstraps: null };
  return { masks, input, decay: { gamma: parsed.gamma, lambda: parsed.lam } };
}

function whiten({ raw, returns }: RawGae, masks: Masks) {
  return { advantages_raw: raw, returns, advantages: maskedWhiten(raw, masks) };
}

function advantagesOf(given: RlCase, options: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const found = estimateCase(given, 'gae', options);
  return found.kind === 'refused' ? { refused: found.reason } : { advantages: found.advantages, returns: found.returns };
}
