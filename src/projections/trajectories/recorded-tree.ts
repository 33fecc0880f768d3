import type { Selectable } from 'kysely';
import type { Tree, TreeStep } from '../../domain/tree/grow-tree.ts';
import type { RewardIndex, TreeReward, TreeRollout } from '../../domain/tree/trajectory.ts';
import type { DataOf } from '../../events/catalogue.ts';
import type { Packed } from '../../events/schemas/values.ts';
import type { Tables } from '../../postgres/tables.ts';

/** A tree as it was recorded, read whole. Long texts are '' here and named in `blobs`: who reads fetches those it needs. */
export interface RecordedTree {
  readonly head: TreeHead;
  readonly tree: Tree<RecordedStep>;
  readonly rollouts: ReadonlyMap<string, RecordedRollout>;
  readonly rewards: RewardIndex<TreeReward>;
}

export type TreeHead = Pick<
  Selectable<Tables['trees']>,
  | (
      | 'treeId'
      | 'runId'
      | 'taskId'
      | 'environment'
      | 'serverFingerprint'
      | 'alias'
      | 'goal'
      | 'taskDepth'
      | 'split'
      | 'toolsKwargs'
      | 'instruction'
    )
  | ('seed' | 'blobs')
>;

type StepColumns = Pick<
  Selectable<Tables['steps']>,
  | ('treeId' | 'rolloutId' | 'depth' | 'response' | 'thought' | 'action' | 'observation' | 'wellFormatted' | 'executable')
  | ('termination' | 'promptTokens' | 'completionTokens' | 'finishReason' | 'stateHash' | 'blobs')
>;

export interface RecordedStep extends TreeStep, StepColumns {
  readonly reply: RecordedReply | null;
  readonly policySpans: readonly PolicySpan[];
  readonly tokens: { readonly ids: Packed; readonly logProbs: Packed | null; readonly mask: Packed | null } | null;
}

/** What a reply is besides its text; arguments over 64 KiB are in the blob store. */
export type RecordedReply = NonNullable<DataOf<'StepTaken'>['reply']>;

/** The policy version that sampled the tokens [from, to) of a response. */
export interface PolicySpan {
  readonly from: number;
  readonly to: number;
  readonly policyId: string;
  readonly version: number;
}

type RolloutColumns = Pick<
  Selectable<Tables['rollouts']>,
  'treeId' | 'ordinal' | 'seed' | 'policyId' | 'policyVersion' | 'outcome' | 'success' | 'startedAt' | 'finishedAt'
>;

export interface RecordedRollout extends TreeRollout, RolloutColumns {}
