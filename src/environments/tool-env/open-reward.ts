import { isAmount, whyNoAmount } from '../../domain/reward/amount.ts';
import type { Score, ScoredEpisode } from '../../domain/reward/scored-episode.ts';
import { findScorer, listScorers, type Scorer, scorerOfSource } from '../../domain/reward/scorers.ts';
import { cutFront, cutText } from '../../domain/text/cut-text.ts';
import { EnvironmentError, type ScorerName } from '../environment.ts';
import { isModule, loadExport } from '../tools/load-export.ts';
import { ToolError, whyUnavailable } from '../tools/tool.ts';

/** Who scored an episode, and how. A reward that had to be refused is 0, and `refusal` says why. */
export interface GivenReward extends Score {
  readonly scorer: ScorerName;
  readonly refusal: string | null;
}

export interface Reward {
  readonly fingerprint: string;
  score(episode: ScoredEpisode): Promise<GivenReward>;
}

type UserReward = (episode: ScoredEpisode) => unknown;

const TIME_MS = 30_000; // a rule takes microseconds; a judge behind a server some seconds

/**
 * Opens the reward that a configuration names: a scorer (`qa-em-format`, `qa-em-format@seed-1`), a function of the user's
 * (`./my-reward.ts#name`; the export `reward` without a name), or null for the scorer of each task's data source. @throws
 * ToolError that lists the scorers.
 */
export async function openReward(text: string | null): Promise<Reward> {
  if (text === null)
    return { fingerprint: 'by data source 1', score: async (episode) => byRule(scorerOfSource(episode.dataSource), episode) };
  if (isModule(text)) return userReward(text);
  const scorer = findScorer(text);
  if (scorer === null)
    throw new ToolError(
      `there is no scorer ${JSON.stringify(text.slice(0, 200))}; there are ${listScorers()}, or name a module: ./my-reward.ts#name`,
    );
  return { fingerprint: `${scorer.name}@${scorer.revision}`, score: async (episode) => byRule(scorer, episode) };
}

function byRule(scorer: Scorer, episode: ScoredEpisode): GivenReward {
  return { ...scorer.score(episode), scorer: { name: scorer.name, revision: scorer.revision }, refusal: null };
}

async function userReward(text: string): Promise<Reward> {
  const { value, place, sha256 } = await loadExport(text, 'reward', 'reward');
  if (typeof value !== 'function') throw new ToolError(`reward ${place}: the export must be a function, not ${typeof value}`);
  const rule = value as UserReward; // any function may be called with an episode; what it returns is checked below
  const scorer = { name: cutFront(place, 200), revision: sha256.slice(0, 16) };
  return {
    fingerprint: `${sha256} ${place.split('#')[1]}`,
    score: async (episode) => {
      try {
        return { ...checkScore(await inTime(rule, episode)), scorer, refusal: null };
      } catch (error) {
        const away = whyUnavailable(error); // a judge that is down is no word on the episode
        if (away !== null)
          throw new EnvironmentError('backend', `the reward is unavailable: ${away}`, { retryable: true, cause: error });
        const message = String((error as { message?: unknown } | null)?.message ?? error); // read by field: whatever was thrown
        return { value: 0, success: null, parts: {}, scorer, refusal: cutText(message, 2_000) };
      }
    },
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
