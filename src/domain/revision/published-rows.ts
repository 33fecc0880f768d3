import type { ChatMessage } from '../history/prompt.ts';
import type { SearchedTree } from '../search/published-tree.ts';
import type { SearchedStep } from '../search/search-tree.ts';
import { pythonStrip } from '../text/python-strip.ts';
import { REFLECTIONS } from './compose-revisions.ts';
import { type JudgeSlots, judgeSlots } from './judge-prompt.ts';
import type { LeafPath, PublishedPairing } from './pair-paths.ts';
import { type LossMessage, lossMessages, type RevisedTurn, spliceAsPublished } from './splice.ts';
import { parseVerdictAsPublished } from './verdict.ts';

/** A judged step as the published rows keep it (specification of Agent-R, §2.4). */
export interface PublishedFeedback {
  readonly revision_feedback: string;
  readonly action: string;
  readonly obs: string;
  readonly judgement: string;
}

/** A row of `<TASK>_centric.jsonl` (§2.7). */
export interface PublishedPairRow {
  readonly task_num: string;
  readonly revise_log: readonly LossMessage[];
  readonly high_log: readonly LossMessage[];
  readonly low_log: readonly LossMessage[];
  readonly task_description: string;
  readonly revise: boolean;
  /** Empty text when nobody was asked. */
  readonly revise_feedback: readonly PublishedFeedback[] | '';
}

/** A row of `<TASK>_good.jsonl` (§2.7). */
export interface PublishedGoodRow {
  readonly task_num: string;
  readonly revise_log: readonly LossMessage[];
  readonly revise: boolean;
}

interface PairRowInput {
  readonly taskNum: string;
  /** The messages before the first reply; the last one is the first observation. */
  readonly opening: readonly ChatMessage[];
  readonly turns: readonly RevisedTurn[];
  readonly good: readonly SearchedStep[];
  readonly bad: readonly SearchedStep[];
  /** Null when nobody was asked: the row says `revise: false`. */
  readonly feedback: readonly PublishedFeedback[] | null;
  /** As published, `low_log` carries loss true, which trains on failures (§6 item 13); soundly it carries false. */
  readonly lowLog: 'trained' | 'masked';
}

/** Builds the row of a pair. Key order is that of the published file. */
export function pairRow({ taskNum, opening, turns, good, bad, feedback, lowLog }: PairRowInput): PublishedPairRow {
  return {
    task_num: taskNum,
    revise_log: lossMessages(opening, turns),
    high_log: pathMessages(opening, good, 'trained'),
    low_log: pathMessages(opening, bad, lowLog),
    task_description: opening.at(-1)?.content ?? '',
    revise: feedback !== null,
    revise_feedback: feedback ?? '',
  };
}

/**
 * Builds the row of a good trajectory: every reply after the first observation is trained on. @param revise the switch of the
 * run, which the row repeats.
 */
export function goodRow(
  taskNum: string,
  opening: readonly ChatMessage[],
  steps: readonly SearchedStep[],
  revise: PublishedGoodRow['revise'],
): PublishedGoodRow {
  return { task_num: taskNum, revise_log: pathMessages(opening, steps, 'trained'), revise };
}

function pathMessages(
  opening: readonly ChatMessage[],
  steps: readonly SearchedStep[],
  loss: 'trained' | 'masked',
): readonly LossMessage[] {
  const turns = steps.map((step): RevisedTurn => ({ part: 'good', ...step, loss: loss === 'trained' }));
  return lossMessages(opening, turns);
}

/** A bad trajectory as the published program judged it. */
export interface PublishedJudging {
  /** How many of its first steps are kept: up to the rejected one, or all. */
  readonly kept: number;
  readonly feedback: readonly PublishedFeedback[];
}

type PublishedJudgingStep =
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

/** The published `--data_type`: rows of pairs, or of good trajectories. */
export type PublishedDataType = 'centric' | 'good';

interface PublishedRows extends Pick<SearchedTree, 'opening'> {
  /** The environment's number of the task. */
  readonly taskNum: string;
  readonly pairing: PublishedPairing;
  readonly dataType: PublishedDataType;
  /** The published `--revise`; good rows only repeat it. */
  readonly revise: boolean;
  /** How a bad trajectory was judged; asked only for pairs that are revised. */
  readonly judgingOf: (bad: LeafPath) => PublishedJudging;
}

/**
 * Makes the rows of one tree as the published program writes them (specification of Agent-R, §2.5–2.7), in its order: `low_log`
 * is trained on, a step rejected before the branch makes the shared steps stand twice. The sentence of a reflection is ours at
 * the index that the program draws.
 */
export function* rowsAsPublished(rows: PublishedRows): Generator<PublishedPairRow | PublishedGoodRow> {
  const { taskNum, opening, pairing, revise } = rows;
  if (rows.dataType === 'good') {
    for (const { steps } of pairing.good) yield goodRow(taskNum, opening, steps, revise);
    return;
  }
  for (const { good, bad, reflection } of pairing.accepted) {
    const judging = revise ? rows.judgingOf(bad) : null;
    const kept = bad.steps.slice(0, judging?.kept ?? bad.steps.length);
    const turns = spliceAsPublished(kept, good.steps, REFLECTIONS[reflection] ?? '');
    const steps = { good: good.steps, bad: bad.steps };
    yield pairRow({ taskNum, opening, turns, ...steps, feedback: judging?.feedback ?? null, lowLog: 'trained' });
  }
}

/** What `str.split()` of Python takes for blank: not quite what `\s` is. */
const BLANK = '\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000';
const WORD = new RegExp(`[^${BLANK}]+`, 'g');

/** Counts words as `len(text.split())` does. */
export function pythonWordCount(text: string): number {
  return text.match(WORD)?.length ?? 0;
}

/**
 * Writes a value on one line as `json.dumps(value, ensure_ascii=False)` does: a blank behind every comma and colon, keys in their
 * order, other scripts as they are. @throws TypeError for a number, which Python may write in another way (`1.0`), and for what
 * JSON does not have.
 */
export function pythonJson(value: unknown): string {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return JSON.stringify(value); // the same escapes
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(', ')}]`;
  if (typeof value !== 'object') throw new TypeError(`a ${typeof value} is not written as Python writes it`);
  const fields = Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${pythonJson(each)}`);
  return `{${fields.join(', ')}}`;
}
