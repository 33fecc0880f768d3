import type { ChatMessage } from '../../../domain/history/prompt.ts';
import type { PublishedFeedback } from '../../../domain/revision/published-rows.ts';
import type { RevisedTurn } from '../../../domain/revision/splice.ts';
import type { SearchedStep } from '../../../domain/search/searched-step.ts';
import type { RecordedPrompt } from '../../../projections/prompts/read-prompts.ts';
import type { RowOrigin } from '../export/row-metadata.ts';

/** A training example of a searched tree before it has the form of a file. */
export interface TrainingRow {
  readonly kind: 'good' | 'revision' | 'pair';
  /** Whether it is a revision that its tree does not yield as it was composed. */
  readonly isAltered: boolean;
  readonly taskId: string;
  readonly alias: string;
  readonly environment: string;
  readonly instruction: string;
  readonly firstObservation: string;
  /** Ids of the pictures of observations: of the first, and of those behind steps, by the step. */
  readonly firstPictures: readonly string[];
  readonly pictures: ReadonlyMap<string, readonly string[]>;
  /** What the source of an imported run said besides the instruction; null for runs of our own. */
  readonly system: string | null;
  readonly acknowledgement: string | null;
  /** The messages, with the loss of each reply. */
  readonly turns: readonly RevisedTurn[];
  /** The two trajectories that a revision or pair was made of; null for a good one. */
  readonly pair: RowPair | null;
  /** What the judge said of the bad one's first steps; null when nobody was asked. */
  readonly feedback: readonly PublishedFeedback[] | null;
  /** Every id and number that leads back to the record. */
  readonly source: RowOrigin;
  /** What the steps of the tree were asked with, by their ids, and the recorded configuration of its run. */
  readonly prompts: ReadonlyMap<string, RecordedPrompt>;
  readonly config: unknown;
  /** The trajectories it was made of. */
  readonly rollouts: { readonly good: string; readonly bad: string | null };
}

export interface RowPair {
  readonly good: readonly SearchedStep[];
  readonly bad: readonly SearchedStep[];
  readonly branch: number;
}

/** Returns what precedes the first reply, as the policy saw it: imported conversations open as their files did. */
export function openingOf(row: TrainingRow): readonly ChatMessage[] {
  const { system, acknowledgement, instruction, firstObservation } = row;
  const first = { role: 'user', content: firstObservation } as const;
  if (acknowledgement === null) {
    const head = instruction === '' ? system : instruction;
    return head === null ? [first] : [{ role: 'system', content: head }, first];
  }
  return [
    ...(system === null ? [] : [{ role: 'system', content: system } as const]),
    { role: 'user', content: instruction },
    { role: 'assistant', content: acknowledgement },
    first,
  ];
}
