import type { Tree, TreeStep } from '../../domain/tree/grow-tree.ts';
import type { RewardIndex, TreeReward, TreeRollout } from '../../domain/tree/trajectory.ts';
import type { DataOf } from '../../events/catalogue.ts';
import type { Packed } from '../../events/schemas/values.ts';
import type { Blobs } from '../../postgres/column-types.ts';

/** A tree as it was recorded, read whole. Long texts are '' here and named in `blobs`: who reads fetches those it needs. */
export interface RecordedTree {
  readonly head: TreeHead;
  readonly tree: Tree<RecordedStep>;
  readonly rollouts: ReadonlyMap<string, RecordedRollout>;
  readonly rewards: RewardIndex<TreeReward>;
}

export interface TreeHead {
  readonly treeId: string;
  readonly runId: string;
  readonly taskId: string;
  readonly environment: string;
  readonly serverFingerprint: string;
  readonly alias: string;
  readonly goal: string;
  readonly taskDepth: number | null;
  readonly split: string | null;
  readonly instruction: string;
  readonly seed: number;
  readonly blobs: Blobs | null;
}

export interface RecordedStep extends TreeStep {
  readonly treeId: string;
  readonly rolloutId: string | null;
  readonly depth: number;
  readonly response: string;
  readonly thought: string;
  readonly reply: RecordedReply | null;
  readonly action: string;
  readonly observation: string;
  readonly wellFormatted: boolean;
  readonly executable: boolean;
  readonly termination: 'none' | 'terminated' | 'truncated';
  readonly policySpans: readonly PolicySpan[];
  readonly tokens: { readonly ids: Packed; readonly logProbs: Packed | null; readonly mask: Packed | null } | null;
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  readonly finishReason: string | null;
  readonly stateHash: string | null;
  readonly blobs: Blobs | null;
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

export interface RecordedRollout extends TreeRollout {
  readonly treeId: string;
  readonly ordinal: number;
  readonly seed: number;
  readonly policyId: string;
  readonly policyVersion: number;
  readonly outcome: 'terminated' | 'truncated' | 'failed' | 'cancelled' | null;
  readonly success: boolean | null;
  readonly startedAt: Date;
  readonly finishedAt: Date | null;
}
