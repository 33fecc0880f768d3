import type { PairedComparison } from '../src/domain/evaluation/compare-paired.ts';
import type { RevisedTurn } from '../src/domain/revision/splice.ts';
import type { FirstDivergence } from '../src/domain/tree/first-divergence.ts';
import type { DataOf } from '../src/events/catalogue.ts';
import type { Packed, Text } from '../src/events/schemas/values.ts';
import type { TextQuery } from '../src/projections/analysis/text-query.ts';
import type { ImageTotals } from '../src/projections/images/read-image-totals.ts';
import type { SegmentRecord } from '../src/projections/images/read-segments.ts';
import type { OfTree } from '../src/projections/of-tree.ts';
import type { RecordedPrompt } from '../src/projections/prompts/read-prompts.ts';
import type { RunRecord } from '../src/projections/runs/read-runs.ts';
import type { StepRecord } from '../src/projections/step-tree/read-steps.ts';
import type { DiscardedBy, DiscardedPart } from '../src/projections/training-pool/read-discarded.ts';
import type { CountedConnection } from './connection.ts';

/** Query has no properties of its own: every field of it is a resolver. */
export type Root = Readonly<Record<never, never>>;

/** A turn of a revision, with the end of its good trajectory, by whose policy it is tokenised where no step took it. */
export type RevisionTurnModel = RevisedTurn & { readonly treeId: string; readonly leafStepId: string };

/** A reply to a captured call. */
export type CapturedChoiceModel = DataOf<'CallCaptured'>['choices'][number];

/** How many images of a run differ is read where it is asked for. */
export interface ImageTotalsModel extends Omit<ImageTotals, 'ofId' | 'images'> {
  readonly images: number | (() => Promise<number>);
}

/** A policy at a version, whether or not the record says what it was made of. */
export interface PolicyVersionModel {
  readonly id: string;
  readonly version: number;
}

/** What a mutation recorded; its annotations are read where they are asked for. */
export interface AnnotationsRecordedModel {
  readonly ids: readonly string[];
  readonly treeIds: readonly string[];
  readonly position: string;
}

/** An environment of a run, by which its renderer is found. */
export interface RunEnvironmentModel {
  readonly runId: string;
  readonly environment: string;
  readonly fingerprint: string;
}

/** Samples of a policy that share a property. */
export interface DiscardedSamplesModel extends DiscardedPart {
  readonly by: DiscardedBy;
}

export interface ReachedModel {
  readonly position: string;
  readonly waitedMs: number;
  readonly query: Root;
}

/** A segment at its place in a history; of its record what was asked for and is there. */
export interface HistorySegmentModel extends Partial<SegmentRecord> {
  readonly id: string;
  readonly place: number;
  readonly hit: boolean;
}

/** A prompt as the API shows it: images are looked up by their ids. */
export interface PromptModel extends Omit<RecordedPrompt, 'messages' | 'tokenIds'> {
  readonly messages: readonly PromptMessageModel[];
  readonly tokens: { readonly ids: Packed; readonly before: number | null; readonly kept: number | null } | null;
}
export interface PromptMessageModel {
  readonly role: string;
  readonly toolCallId: string | null;
  readonly name: string | null;
  readonly parts: readonly PromptPartModel[];
}
export interface PromptPartModel {
  /** The step or judgement whose prompt it is of. */
  readonly prompt: OfTree;
  readonly text: string | null;
  readonly reasoning: string | null;
  readonly toolCall: RequestedToolModel | null;
  readonly imageId: string | null;
  /** How many later parts of the prompt show an image of the same pixels. */
  readonly repeats: number;
}

/** A call of a tool in a reply, as the model wrote it. */
export interface RequestedToolModel {
  readonly id: string | null;
  readonly name: string;
  readonly arguments: Text;
}

/** The back-ups of a search, the places of their paths in an outline. */
export interface OutlineBackUpsModel {
  readonly length: number;
  readonly values: Packed;
  readonly lengths: Packed;
  readonly paths: Packed;
}

/** A step of a page, and the words that it was found by. */
export interface StepMatch {
  readonly cursor: string;
  readonly node: StepRecord;
  readonly text: TextQuery | null;
}
export interface StepMatches extends Omit<CountedConnection<StepRecord>, 'edges'> {
  readonly edges: readonly StepMatch[];
}

/** A run next to the first one of a comparison. */
export interface RunComparisonModel {
  readonly run: RunRecord;
  readonly baseline: RunRecord;
  readonly tasks: number;
  readonly unpaired: number;
  readonly success: PairedComparison | null;
  readonly return: PairedComparison | null;
}

export interface TrajectoryDivergenceModel extends Pick<FirstDivergence, 'kind'> {
  readonly depth: number;
  readonly common: StepRecord | null;
  readonly a: StepRecord | null;
  readonly b: StepRecord | null;
}
