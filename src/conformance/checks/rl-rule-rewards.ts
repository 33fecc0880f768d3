import { z } from 'zod';
import { exactMatch, normalizeAnswer, scoreHotpotqaRecipe } from '../../domain/reward/exact-match.ts';
import { scoreGsm8k, scoreGsm8kFormat } from '../../domain/reward/gsm8k.ts';
import {
  containsGold,
  type QaGeneration,
  reportedReward,
  scoreQaFormat,
  scoreSearchR1,
} from '../../domain/reward/qa-em-format.ts';
import { scoreRetoolFormat } from '../../domain/reward/retool.ts';
import { stepReturns } from '../../domain/training/advantages/gae.ts';
import { addRewards, normaliseOverBatch, placeToolRewards } from '../../domain/training/process/process-rewards.ts';
import { calculatorReward } from '../../environments/tools/calculator.ts';
import { byVariant, type RlCase, rlCheck, rowsShape } from '../rl-vectors.ts';

const texts = z.object({ texts: z.array(z.string()) });
const chat = z.object({ solution: z.string(), ground_truth: z.string() });
const pairs = z.object({ pairs: z.array(z.tuple([z.string(), z.string()])) });
const solutions = z.object({ solutions: z.array(z.string()) });
const answers = z.union([z.null().transform(() => []), z.string().transform((gold) => [gold]), z.array(z.string())]);
const judged = z.object({ pairs: z.array(z.tuple([z.string(), answers])) });
/** A row: what was said, the ground truth, and the further answers of `extra_info` where it has some. */
const answered = z.object({
  rows: z.array(
    z
      .tuple([z.string(), answers])
      .rest(z.union([answers, z.object({ answers: answers.optional() }).transform((extra) => extra.answers ?? [])]))
      .transform(([text, golds, ...more]) => ({ text, golds: [golds, ...more].flat() })),
  ),
});
const searches = z.object({ rows: z.array(z.tuple([z.string(), z.array(z.string())])) });
const reported = z.object({ rows: z.array(z.tuple([z.number(), z.number(), z.number()])) });

/** Judges `10-rule-rewards`: normalisation, and the scorers that read texts. */
export const rlRuleRewardsCheck = rlCheck(/^10-rule-rewards.*\.json$/, {
  normalize_answer: ({ inputs }) => ({ value: texts.parse(inputs).texts.map(normalizeAnswer) }),
  qa_em_and_format({ inputs }) {
    const { solution, ground_truth: gold } = chat.parse(inputs);
    const scored = (generation: QaGeneration) => {
      const { total, ...parts } = scoreQaFormat(solution, [gold], generation);
      return { ...parts, format_answer: total };
    };
    return { seed: scored('seed'), legacy: scored('legacy') };
  },
  gsm8k_legacy({ inputs }) {
    const { solution, ground_truth: gold } = chat.parse(inputs);
    const { total, ...parts } = scoreGsm8kFormat(solution, gold);
    return { ...parts, format_answer: total };
  },
  em_and_subem({ inputs }) {
    const given = judged.parse(inputs).pairs;
    return {
      em: given.map(([prediction, golds]) => Number(exactMatch(prediction, golds))),
      subem: given.map(([prediction, golds]) => Number(containsGold(prediction, golds))),
    };
  },
  gsm8k_verl: byVariant({
    strict: (given) => gsm8k(given, 'strict'),
    flexible: (given) => gsm8k(given, 'flexible'),
  }),
  hotpotqa_recipe: ({ inputs }) => ({
    value: answered.parse(inputs).rows.map(({ text, golds }) => scoreHotpotqaRecipe(text, golds)),
  }),
  retool_format: ({ inputs }) => ({ value: solutions.parse(inputs).solutions.map(scoreRetoolFormat) }),
  search_r1_em: ({ inputs }) => ({
    value: searches.parse(inputs).rows.map(([solution, golds]) => scoreSearchR1(solution, golds)),
  }),
  paper_reward: ({ inputs }) => ({
    value: reported
      .parse(inputs)
      .rows.map(([answerForm, toolForm, exactMatch]) => reportedReward({ answerForm, toolForm, exactMatch })),
  }),
});

function gsm8k({ inputs }: RlCase, reading: 'strict' | 'flexible'): Record<string, unknown> {
  return { value: pairs.parse(inputs).pairs.map(([solution, gold]) => scoreGsm8k(solution, gold, reading)) };
}

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
