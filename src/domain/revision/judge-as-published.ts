import type { SearchedStep } from '../search/searched-step.ts';
import { pythonStrip } from '../text/python-strip.ts';
import { type JudgeSlots, judgeSlots } from './judge-prompt.ts';
import type { PublishedFeedback } from './published-rows.ts';
import { pythonWordCount } from './python-text.ts';
import { parseVerdictAsPublished } from './verdict.ts';

/** A bad trajectory as the published program judged it. */
export interface PublishedJudging {
  /** How many of its first steps are kept: up to the rejected one, or all. */
  readonly kept: number;
  readonly feedback: readonly PublishedFeedback[];
}

export type PublishedJudgingStep =
  | { readonly kind: 'judge'; readonly index: number; readonly slots: JudgeSlots }
  | { readonly kind: 'judged'; readonly judging: PublishedJudging };

/**
 * Decides what is next when a bad trajectory is walked by the published rules (specification of Agent-R, §2.4): a step to ask
 * about, or where it is given up. Only "good" or "uncertain" behind the last `Judgement:` goes on; a reply that says neither
 * rejects the step. A pure function of the replies so far.
 * @param replies to the first steps, in order. @param maxTokenLength MAX_TOKEN_LENGTH; null for no limit.
 */
export function nextPublishedJudging(
  steps: readonly SearchedStep[],
  taskDescription: string,
  replies: readonly string[],
  maxTokenLength: number | null,
): PublishedJudgingStep {
  const feedback: PublishedFeedback[] = [];
  for (const [i, step] of steps.entries()) {
    const reply = replies[i];
    if (reply === undefined) {
      const slots = judgeSlots(taskDescription, steps, i);
      return { kind: 'judge', index: i, slots: { ...slots, log: cutLogAsPublished(slots.log, maxTokenLength) } };
    }
    const said = pythonStrip(reply); // as the published client hands it on
    const { judgement, verdict } = parseVerdictAsPublished(said);
    feedback.push({ revision_feedback: said, action: step.action, obs: step.observation, judgement });
    if (verdict === 'bad') return { kind: 'judged', judging: { kept: i + 1, feedback } };
  }
  return { kind: 'judged', judging: { kept: steps.length, feedback } };
}

const CUT = 6; // characters at a time
const MARGIN = 60; // below MAX_TOKEN_LENGTH

/**
 * Cuts a judge's log as the published program does (§2.4): six characters from its start, again and again, until it has at most
 * MAX_TOKEN_LENGTH − 60 words. Words and steps are cut in the middle. @throws RangeError below 60, where the original never ends.
 */
export function cutLogAsPublished(log: string, maxTokenLength: number | null): string {
  if (maxTokenLength === null) return log;
  const limit = maxTokenLength - MARGIN;
  if (limit < 0) throw new RangeError(`a log cannot be cut to ${limit} words; MAX_TOKEN_LENGTH is at least ${MARGIN}`);
  const characters = [...log]; // as Python counts them
  const after = (cuts: number) => characters.slice(cuts * CUT).join('');
  // What is left never gains words by a cut, so that the first cut that is enough can be halved for.
  let [low, high] = [0, Math.ceil(characters.length / CUT)];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (pythonWordCount(after(middle)) > limit) low = middle + 1;
    else high = middle;
  }
  return after(low);
}
