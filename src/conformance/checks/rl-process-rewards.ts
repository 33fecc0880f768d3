import { z } from 'zod';
import { stepReturns } from '../../domain/training/advantages/gae.ts';
import { addRewards, normaliseOverBatch, placeToolRewards } from '../../domain/training/process/process-rewards.ts';
import { calculatorReward } from '../../environments/tools/calculator.ts';
import { rlCheck, rowsShape } from '../rl-vectors.ts';

const numbers = z.array(z.number());
const placement = z.object({
  tool_call_end_token: z.array(numbers),
  env_rewards: z.array(numbers),
  valid_response_length: numbers,
  outcome_rewards: rowsShape,
});
const expressions = z.object({ expressions: z.array(z.string()) });
const steps = z.object({ steps: z.array(z.tuple([z.string(), z.number()])), gamma: z.number() });

/**
 * Judges `09-process-rewards`: where the reward of a call is put, how a batch scales it, what the calculator pays, and the
 * returns of steps.
 */
export const rlProcessRewardsCheck = rlCheck(/^09-process-rewards.*\.json$/, {
  prime_norm: ({ inputs }) => ({ value: normaliseOverBatch(rowsShape.parse(inputs.process_rewards)) }),
  process_reward_pipeline({ inputs }) {
    const parsed = placement.parse(inputs);
    const outcome = parsed.outcome_rewards;
    const rows = parsed.tool_call_end_token.map((callEnds, row) => ({ callEnds, rewards: parsed.env_rewards[row] ?? [] }));
    const placed = placeToolRewards(rows, parsed.valid_response_length).map((row, i) =>
      padded(row, outcome[i]?.length ?? row.length),
    );
    const normalised = normaliseOverBatch(placed);
    return { process_rewards: placed, normalised, token_level_scores: addRewards(outcome, normalised) };
  },
  calculator_tool_reward: ({ inputs }) => ({ value: expressions.parse(inputs).expressions.map(calculatorReward) }),
  mdp_step_returns({ inputs }) {
    const { steps: taken, gamma } = steps.parse(inputs);
    const rewards = taken.map(([, reward]) => reward);
    const order = { trajectories: taken.map(() => 'one'), steps: taken.map((_, step) => step) };
    return { value: stepReturns(rewards, order, gamma) };
  },
});

/** The vectors are padded rows; ours end with the response. */
function padded(row: Float64Array, length: number): Float64Array {
  const wide = new Float64Array(length);
  wide.set(row);
  return wide;
}
