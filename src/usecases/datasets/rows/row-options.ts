import type { PreferenceSpan } from '../../../domain/dataset/preference.ts';
import { refuseThresholds, type Thresholds } from '../../../domain/revision/thresholds.ts';
import { DatasetError } from '../dataset-error.ts';
import type { ContextRule } from '../export/without-context.ts';

/**
 * Which examples are made of searched trees. `good`: trajectories that reach alpha. `revisions`: mined revision trajectories.
 * `both`. `pairs`: a good and a bad trajectory side by side, for preference learning, without any judge.
 */
export type RowData = 'good' | 'revisions' | 'both' | 'pairs';

/**
 * What a file of examples looks like. Everything that changes its bytes is here or in `RowParameters`, and so in its manifest.
 */
export interface RowFormat {
  /**
   * `agent-r`: rows of the published `<TASK>_centric.jsonl`. `xtuner`: `output_with_loss` per turn. `sharegpt`: AgentTraj items.
   * `openai`: chats with weights. `trl`: prompt and completion, one row per trained reply. `dpo`: prompt, chosen, rejected.
   */
  readonly kind: RowFormatKind;
  readonly metadata: 'include' | 'omit';
  /** dpo: how far chosen and rejected go. */
  readonly span: PreferenceSpan;
  /** openai, sharegpt: what becomes of replies that are context; left out, they stay with `weight` 0 or `loss` false. */
  readonly context?: Exclude<ContextRule, 'keep'>;
  /** trl: SHA-256 of the tokenizer of a file of token ids, a line per example; left out, it is one of texts. */
  readonly tokenizer?: string;
  /** trl with a tokenizer: left out, the file has a line of JSON for each row. */
  readonly container?: 'parquet';
}

/** The formats of mined examples, each with its version: raised when its bytes change for equal input. */
export const ROW_FORMAT_VERSIONS = { 'agent-r': 5, xtuner: 5, sharegpt: 5, openai: 6, trl: 5, dpo: 5 } as const;
export type RowFormatKind = keyof typeof ROW_FORMAT_VERSIONS;
export const ROW_FORMATS = Object.keys(ROW_FORMAT_VERSIONS) as readonly RowFormatKind[]; // its own keys

/** What must hold of an example to be written. */
export interface RowGates {
  readonly duplicates: 'keep' | 'remove';
  /** Examples of tasks that are in a test split anywhere in the record, by fingerprint. */
  readonly testTasks: 'keep' | 'remove';
  /**
   * What measures and does not teach: rollouts of evaluations, those of channels other than `train`, and every task that an
   * evaluation saw, whoever collected it. Environments without splits have no other line between the two.
   */
  readonly evaluations: 'keep' | 'remove';
  /** At most so many examples of one task and kind, the first in their order: good ones do not take the place of revisions. */
  readonly maxPerTask: number | null;
}

export interface RowParameters {
  readonly data: RowData;
  readonly thresholds: Thresholds;
  /** `verified`: only revisions that held when executed. `composed`: those that nobody executed too; rejected ones never. */
  readonly state: 'verified' | 'composed';
  /** Revisions of this judge alone, by its name or as name@revision; left out, those of every judge. */
  readonly judge?: string;
  /** SHA-256 of the ids of the revisions that may be written, one a line; left out, every revision of the query. */
  readonly revisionSet?: string;
  readonly gates: RowGates;
}

/** @throws DatasetError `invalid-query` for thresholds off the scale, or data that a format cannot hold. */
export function checkRowOptions({ kind }: RowFormat, { data, thresholds, gates }: RowParameters): void {
  const refused = refuseThresholds(thresholds);
  if (refused) throw new DatasetError('invalid-query', refused);
  if (gates.maxPerTask !== null && gates.maxPerTask < 1)
    throw new DatasetError('invalid-query', `at most ${gates.maxPerTask} examples per task would be none`);
  if (kind === 'dpo' && (data === 'good' || data === 'both'))
    throw new DatasetError(
      'invalid-query',
      `dpo compares a good with a bad trajectory; take the data pairs or revisions, not ${data}`,
    );
  if (kind !== 'dpo' && data === 'pairs')
    throw new DatasetError('invalid-query', `pairs can only be written as dpo, not as ${kind}`);
}
