import type { PromptSource, ShownRow } from '../../../domain/dataset/shown-rows.ts';
import { labelLines, meanScore, type RowAnnotation } from './export-trajectory.ts';
import { float } from './json-line.ts';
import type { ExportedPicture } from './pictures.ts';

/** Where a row comes from: every id that leads back to the record, and what it was worth. Null is what does not apply. */
export interface RowOrigin {
  readonly kind: 'trajectory' | 'good' | 'revision' | 'pair' | 'general';
  /** The rollout, and the step at which it ended; of mined rows the good one. */
  readonly trajectory: string;
  readonly leaf: string;
  /** Of revisions and pairs the bad rollout, and the step at which it ended. */
  readonly rejected: string | null;
  readonly rejectedLeaf: string | null;
  readonly tree: string;
  readonly run: string;
  readonly task: {
    readonly id: string;
    readonly alias: string;
    readonly goal: string;
    readonly depth: number | null;
    readonly split: string | null;
  };
  readonly environment: { readonly name: string; readonly fingerprint: string };
  readonly policy: { readonly id: string; readonly version: number };
  readonly ordinal: number;
  readonly outcome: string;
  readonly success: boolean | null;
  readonly steps: number;
  readonly revision: string | null;
  readonly state: string | null;
  readonly judge: string | null;
  readonly judgements: readonly string[];
  /** Annotations of the trajectory, of its steps and of the revision; of revisions and pairs also those of the bad trajectory. */
  readonly annotations: readonly RowAnnotation[];
  readonly rejectedAnnotations: readonly RowAnnotation[];
  /** Numbers by name: `return`, `reward.<component>` of trajectories; `good`, `bad`, `reached`, `alpha`, `beta` of mined rows. */
  readonly scores: Readonly<Record<string, number | null>>;
}

/** What is said of one row among those of its origin. */
export interface RowPart {
  readonly prompt: PromptSource;
  /** Which of how many rows, and which steps it holds: [from, to) of the trajectory. */
  readonly part: { readonly index: number; readonly of: number; readonly from: number; readonly to: number };
}

/**
 * Writes the column `metadata`: the same keys with the same types in every kind of row and every file, nothing null. Readers take
 * the type of a column from the rows that they see first; a null there has none, and the next file is refused. So '' stands for a
 * text that does not apply, `unknown` for a success that nobody said, -1 for a depth that the task does not have, and a score
 * that does not apply is not in the list, which is never empty. `labels` and `rejected_labels` are texts of a label a line, and
 * the score `annotation` is the mean of the scores of annotations.
 */
export function rowMetadata(origin: RowOrigin, { prompt, part }: RowPart): object {
  const { kind, trajectory, rejected, tree, run, task, environment, policy, ordinal, outcome, success, steps } = origin;
  const { revision, state, judge, judgements, leaf, rejectedLeaf, annotations, rejectedAnnotations } = origin;
  const scores = { ...origin.scores, annotation: meanScore(annotations) };
  return {
    kind,
    trajectory,
    rejected: rejected ?? '',
    tree,
    run,
    task: { ...task, depth: task.depth ?? -1, split: task.split ?? '' },
    environment,
    policy,
    ordinal,
    outcome,
    result: resultOf(success),
    steps,
    leaf,
    rejected_leaf: rejectedLeaf ?? '',
    revision: revision ?? '',
    state: state ?? '',
    judge: judge ?? '',
    judgements: judgements.join(' '),
    labels: labelLines(annotations),
    rejected_labels: labelLines(rejectedAnnotations),
    prompt,
    part,
    scores: Object.entries(scores).flatMap(([name, value]) => (value === null ? [] : [{ name, value: float(value) }])),
  };
}

/**
 * What a general conversation that was mixed in says of itself: the same keys, so that a file has one type of metadata.
 * @param eta the share of agent examples in the mixture.
 */
export function generalMetadata(index: number, eta: number): object {
  const none = { name: '', fingerprint: '' };
  const origin: RowOrigin = {
    kind: 'general',
    trajectory: '',
    leaf: '',
    rejected: null,
    rejectedLeaf: null,
    tree: '',
    run: '',
    task: { id: '', alias: '', goal: '', depth: null, split: null },
    environment: none,
    policy: { id: '', version: 0 },
    ordinal: index,
    outcome: '',
    success: null,
    steps: 0,
    revision: null,
    state: null,
    judge: null,
    judgements: [],
    annotations: [],
    rejectedAnnotations: [],
    scores: { eta },
  };
  return rowMetadata(origin, { prompt: 'composed', part: { index: 0, of: 1, from: 0, to: 0 } });
}

/** Names a success as a word: "false" as a text would be true to who tests it. */
export function resultOf(success: boolean | null): 'success' | 'failure' | 'unknown' {
  if (success === null) return 'unknown';
  return success ? 'success' : 'failure';
}

/** Describes which of how many rows of an example one is, its steps counted from `from`. */
export function partOf(row: Pick<ShownRow, 'from' | 'to'>, index: number, of: number, from = 0): RowPart['part'] {
  return { index, of, from: from + row.from, to: from + row.to };
}

/** Describes the pictures of a row of a file that has pictures anywhere; nothing in a file of texts. */
export function picturesNamed(pictures: readonly ExportedPicture[], { any }: { readonly any: boolean }): object {
  if (!any) return {};
  return { images: pictures.map(({ id, factor, width, height }) => ({ id, factor: float(factor), width, height })) };
}
