import { COMPRESSION_PRESETS, factorReward, readFactor } from '../compression/factor-reward.ts';
import { answerF1, exactMatch, scoreHotpotqaRecipe } from './exact-match.ts';
import { scoreGsm8k, scoreGsm8kFormat } from './gsm8k.ts';
import { boxedContent, sameAnswer } from './math-answer.ts';
import { scoreQaFormat, scoreQaReported, scoreSearchR1 } from './qa-em-format.ts';
import { scoreRetool, scoreRetoolFormat } from './retool.ts';
import type { Score, ScoredEpisode } from './scored-episode.ts';

/** A rule that scores episodes. A changed rule is a new revision: what was scored before stays what it was. */
export interface Scorer {
  readonly name: string;
  readonly revision: string;
  /** What it looks at besides the record. */
  readonly needs: 'ground-truth' | 'nothing';
  score(episode: ScoredEpisode): Score;
}

/** What an action that cannot be executed costs: the penalty of Agent-R1 of March 2025. */
const INVALID = 0.1;

/** Every scorer there is; of one name the first is what the bare name means. */
export const SCORERS: readonly Scorer[] = [
  qaScorer('legacy'),
  qaScorer('seed'),
  {
    name: 'qa-em-format',
    revision: 'report-1',
    needs: 'ground-truth',
    score: ({ chat, golds }) => {
      const { total, format, answer } = scoreQaReported(chat, golds);
      return { value: total, success: answer === 1, parts: { format, answer } };
    },
  },
  scorer('exact-match', '1', ({ answer, golds }) => (answer !== null && exactMatch(answer, golds) ? 1 : 0)),
  scorer('exact-match', 'v0.1-1', ({ responses, golds }) => scoreHotpotqaRecipe(responses.join(''), golds)),
  scorer('answer-f1', '1', ({ answer, golds }) => (answer === null ? 0 : answerF1(answer, golds))),
  {
    name: 'gsm8k-format',
    revision: 'legacy-1',
    needs: 'ground-truth',
    score: ({ chat, golds }) => {
      const { total, format, answer } = scoreGsm8kFormat(chat, golds[0] ?? '');
      return { value: total, success: answer === 1, parts: { format, answer } };
    },
  },
  scorer('gsm8k-strict', 'verl-1', ({ responses, golds }) => scoreGsm8k(responses.join(''), golds[0] ?? '', 'strict')),
  scorer('gsm8k-flexible', 'verl-1', ({ responses, golds }) => scoreGsm8k(responses.join(''), golds[0] ?? '', 'flexible')),
  {
    name: 'retool',
    revision: 'legacy-2',
    needs: 'ground-truth',
    score: ({ chat, golds }) => {
      const { total, format, answer } = scoreRetool(chat, golds[0] ?? '');
      return { value: total, success: answer === 1, parts: { format, answer } };
    },
  },
  // The last box of the last response, whatever else it says: any gold answer counts.
  scorer('math-answer', 'forms-1', ({ responses, golds }) => {
    const answer = boxedContent(responses.at(-1) ?? '');
    return answer !== null && golds.some((gold) => sameAnswer(answer, gold)) ? 1 : 0;
  }),
  {
    name: 'retool-format',
    revision: 'legacy-1',
    needs: 'nothing',
    score: ({ chat }) => ({ value: scoreRetoolFormat(chat), success: null, parts: {} }),
  },
  {
    name: 'search-r1-em',
    revision: 'verl-1',
    needs: 'ground-truth',
    score: ({ responses, golds }) => {
      const value = scoreSearchR1(responses.join(''), golds);
      return { value, success: value > 0, parts: {} };
    },
  },
  {
    name: 'environment-outcome',
    revision: '1',
    needs: 'nothing',
    score: ({ environmentScore, success }) => ({ value: environmentScore ?? 0, success, parts: {} }),
  },
  {
    name: 'invalid-action',
    revision: '1',
    needs: 'nothing',
    score: ({ invalidActions, success }) => ({ value: invalidActions === 0 ? 0 : -INVALID * invalidActions, success, parts: {} }),
  },
  compressionScorer('published-script'),
  compressionScorer('paper'),
];

/** Finds a scorer by `NAME` or `NAME@REVISION`; null where there is none. */
export function findScorer(text: string): Scorer | null {
  const [name, revision] = text.split('@');
  return SCORERS.find((each) => each.name === name && (revision === undefined || each.revision === revision)) ?? null;
}

/** Writes all names for whoever named another one. */
export function listScorers(): string {
  return SCORERS.map(({ name, revision }) => `${name}@${revision}`).join(', ');
}

/** The scorer that Agent-R1 assigns to a data set. */
const BY_SOURCE: Readonly<Record<string, string>> = {
  'hotpotqa/hotpot_qa': 'qa-em-format',
  'bdsaglam/musique': 'qa-em-format',
  'xanhho/2WikiMultihopQA': 'qa-em-format',
  'openai/gsm8k': 'gsm8k-format',
  'BytedTsinghua-SIA/DAPO-Math-17k': 'retool',
};

/** Returns the scorer of a data set: the one that Agent-R1 sends it to, or exact match. */
export function scorerOfSource(dataSource: string): Scorer {
  const name = (Object.hasOwn(BY_SOURCE, dataSource) ? BY_SOURCE[dataSource] : undefined) ?? 'exact-match';
  const scorer = findScorer(name);
  if (scorer === null) throw new RangeError(`there is no scorer ${name}`);
  return scorer;
}

function qaScorer(generation: 'seed' | 'legacy'): Scorer {
  return {
    name: 'qa-em-format',
    revision: `${generation}-1`,
    needs: 'ground-truth',
    score: ({ chat, golds }) => {
      const { total, format, answer, em } = scoreQaFormat(chat, golds, generation);
      return { value: total, success: em === 1, parts: { format, answer } };
    },
  };
}

/** A scorer whose value is 1 for a task that was done. */
function scorer(name: string, revision: string, rule: (episode: ScoredEpisode) => number): Scorer {
  return {
    name,
    revision,
    needs: 'ground-truth',
    score: (episode) => {
      const value = rule(episode);
      return { value, success: value === 1, parts: {} };
    },
  };
}

/** Sums ln(cf) over an episode's steps but the last, by a preset's coefficients, as if the schedule were on. */
function compressionScorer(preset: 'published-script' | 'paper'): Scorer {
  return {
    name: 'compression',
    revision: `${preset}-1`,
    needs: 'nothing',
    score: ({ responses, success }) => {
      const values = responses.map((response, i) => {
        const { factor } = readFactor(response);
        const step = { factor, success: success === true, active: true, endsEpisode: i === responses.length - 1 };
        return factorReward(step, COMPRESSION_PRESETS[preset]);
      });
      return { value: values.reduce((sum, value) => sum + value, 0), success, parts: {} };
    },
  };
}
