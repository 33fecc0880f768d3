import type { ChatMessage } from '../history/prompt.ts';
import type { SearchedStep } from '../search/searched-step.ts';
import { type LossMessage, lossMessages, type RevisedTurn } from './splice.ts';

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

export interface PairRowInput {
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
