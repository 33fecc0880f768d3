import { z } from 'zod';
import { type ReturnsVariant, stepReturns } from '../../domain/training/advantages/discounted-returns.ts';
import { scoreRows } from '../../domain/training/advantages/row-scores.ts';
import { standardise } from '../../domain/training/statistics/standardise.ts';
import { estimateCase } from '../rl-estimate.ts';
import { byVariant, masksShape, type RlCase, rlCheck, rowsShape } from '../rl-vectors.ts';

const gamma = z.object({ gamma: z.number() });
const steps = gamma.extend({
  token_level_rewards: rowsShape,
  response_mask: masksShape,
  trajectory_uids: z.array(z.string()),
  step_indices: z.array(z.int()),
});

/** Judges `04-reinforce`: REINFORCE++ as shipped, repaired and on packed rows, and REINFORCE over steps. */
export const rlReinforceCheck = rlCheck(/^04-reinforce.*\.json$/, {
  reinforce_plus_plus: byVariant({
    'verl 0.2 - 0.8 (reset at mask 0)': (given) => plusPlus(given, 'shipped'),
    'repaired, verl PR 7300 (carry over mask 0)': (given) => plusPlus(given, 'repaired'),
    'Agent-R1 legacy (compact action tokens)': (given) => plusPlus(given, 'compact'),
  }),
  reinforce_step(given) {
    const parsed = steps.parse(given.inputs);
    const rewards = scoreRows(parsed.token_level_rewards, parsed.response_mask, 'trained-tokens');
    const returns = stepReturns(rewards, { trajectories: parsed.trajectory_uids, steps: parsed.step_indices }, parsed.gamma);
    return {
      step_returns: returns,
      step_advantages: standardise(returns),
      ...estimated(given, 'reinforce_step', { gamma: parsed.gamma }),
    };
  },
});

function plusPlus(given: RlCase, variant: ReturnsVariant): Record<string, unknown> {
  return estimated(given, 'reinforce_plus_plus', { variant, ...gamma.parse({ gamma: given.inputs.gamma }) });
}

function estimated(given: RlCase, estimator: string, options: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const found = estimateCase(given, estimator, options);
  return found.kind === 'refused' ? { refused: found.reason } : { advantages: found.advantages, returns: found.returns };
}
