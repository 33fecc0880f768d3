import { isAmount, whyNoAmount } from '../../domain/reward/amount.ts';
import type { Score, ScoredEpisode } from '../../domain/reward/scored-episode.ts';
import { findScorer, listScorers, type Scorer, scorerOfSource } from '../../domain/reward/scorers.ts';
import { cutFront, cutText } from '../../domain/text/cut-text.ts';
import { EnvironmentError, type ScorerName } from '../environment.ts';
import { isModule, loadExport } from '../tools/load-export.ts';
import { ToolError, whyUnavailable } from '../tools/tool.ts';
import { openPythonReward, openRewardServer, type RewardServer } from './reward-server.ts';

/** Who scored an episode, and how. A reward that had to be refused is 0, and `refusal` says why. */
export interface ModuleReward extends Score {
  readonly scorer: ScorerName;
  readonly refusal: string | null;
}

export interface Reward {
  readonly fingerprint: string;
  /** Null where each task's data source decides. */
  readonly scorer: ScorerName | null;
  readonly needs: Scorer['needs'];
  /** Scores an episode. @throws EnvironmentError when the reward is unavailable. */
  score(episode: ScoredEpisode): Promise<ModuleReward>;
  close(): Promise<void>;
}

type UserReward = (episode: ScoredEpisode) => unknown;

const TIME_MS = 30_000; // a rule takes microseconds; a judge behind a server some seconds
const MATH_VERIFY = 'math-verify';
const URL_FORM = /^(https?:\/\/|secret:)/;
const PYTHON_FORM = /\.py(#|$)/;

/** What the forms of a reward besides the scorers are called in messages and help. */
export const REWARD_FORMS =
  'math-verify (of Python), a module ./my-reward.ts#NAME, a Python function ./my_reward.py#NAME, or a server http://…';

/** Returns whether a text has the form of a reward besides the scorers; whether there is one, opening it says. */
export function isOwnReward(text: string): boolean {
  return text === MATH_VERIFY || URL_FORM.test(text) || PYTHON_FORM.test(text) || isModule(text);
}

/**
 * Opens a reward: a scorer (`qa-em-format`, `qa-em-format@seed-1`), `math-verify`, a function of the user's (`./my-reward.ts#name`,
 * `./my_reward.py#name`; `reward` without a name), a server, or for null the scorer of each task's data source. The caller closes
 * it. @throws ToolError that lists the scorers.
 */
export async function openReward(text: string | null): Promise<Reward> {
  if (text === null)
    return {
      fingerprint: 'by data source 1',
      scorer: null,
      needs: 'ground-truth',
      score: async (episode) => byRule(scorerOfSource(episode.dataSource), episode),
      close: async () => undefined,
    };
  if (URL_FORM.test(text)) return servedReward(await openRewardServer(text));
  if (text === MATH_VERIFY || PYTHON_FORM.test(text)) return servedReward(await openPythonReward(text));
  if (isModule(text)) return userReward(text);
  const scorer = findScorer(text);
  if (scorer === null)
    throw new ToolError(
      `there is no scorer ${JSON.stringify(text.slice(0, 200))}; there are ${listScorers()}, or name ${REWARD_FORMS}`,
    );
  return shippedReward(scorer);
}

/** Returns a scorer as a reward. */
export function shippedReward(scorer: Scorer): Reward {
  return {
    fingerprint: `${scorer.name}@${scorer.revision}`,
    scorer: { name: scorer.name, revision: scorer.revision },
    needs: scorer.needs,
    score: async (episode) => byRule(scorer, episode),
    close: async () => undefined,
  };
}

function byRule(scorer: Scorer, episode: ScoredEpisode): ModuleReward {
  return { ...scorer.score(episode), scorer: { name: scorer.name, revision: scorer.revision }, refusal: null };
}

function servedReward({ scorer, score, close }: RewardServer): Reward {
  const fingerprint = `${scorer.name}@${scorer.revision}`;
  return { fingerprint, scorer, needs: 'ground-truth', score: checked(scorer, score), close };
}

async function userReward(text: string): Promise<Reward> {
  const { value, place, sha256 } = await loadExport(text, 'reward', 'reward');
  if (typeof value !== 'function') throw new ToolError(`reward ${place}: the export must be a function, not ${typeof value}`);
  const rule = value as UserReward; // any function may be called with an episode; what it returns is checked
  const scorer = { name: cutFront(place, 200), revision: sha256.slice(0, 16) };
  return {
    fingerprint: `${sha256} ${place.split('#')[1]}`,
    scorer,
    needs: 'ground-truth',
    score: checked(scorer, (episode) => inTime(rule, episode)),
    close: async () => undefined,
  };
}

/** Scores by a rule that may fail in any way: an unavailable judge says nothing of the episode, another error is the reason for 0. */
function checked(scorer: ScorerName, rule: (episode: ScoredEpisode) => Promise<unknown>): Reward['score'] {
  return async (episode) => {
    try {
      return { ...checkScore(await rule(episode)), scorer, refusal: null };
    } catch (error) {
      if (error instanceof EnvironmentError && error.code === 'failed') throw error;
      const reason = error instanceof EnvironmentError ? error.message : whyUnavailable(error);
      if (reason !== null)
        throw new EnvironmentError('backend', `the reward is unavailable: ${reason}`, { retryable: true, cause: error });
      const message = String((error as { message?: unknown } | null)?.message ?? error); // read by field: whatever was thrown
      return { value: 0, success: null, parts: {}, scorer, refusal: cutText(message, 2_000) };
    }
  };
}

async function inTime(rule: UserReward, episode: ScoredEpisode): Promise<unknown> {
  let timer: NodeJS.Timeout | undefined;
  try {
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`it took longer than ${TIME_MS} ms`)), TIME_MS);
    });
    return await Promise.race([rule(episode), late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A number, whose task is done from 1 on, or `{value, success?, parts?}`. */
function checkScore(given: unknown): Score {
  const whole: { value?: unknown; success?: unknown; parts?: unknown } =
    typeof given === 'object' && given !== null ? given : { value: given };
  const { value, success, parts } = whole;
  if (!isAmount(value))
    throw new Error(`it gave ${typeof value === 'number' ? value : typeof value}, which ${whyNoAmount(value)}`);
  return {
    value,
    success: typeof success === 'boolean' ? success : whole === given ? null : value >= 1,
    parts: typeof parts === 'object' && parts !== null ? onlyNumbers(parts) : {},
  };
}

function onlyNumbers(parts: object): Record<string, number> {
  return Object.fromEntries(Object.entries(parts).filter((part): part is [string, number] => isAmount(part[1])));
}
