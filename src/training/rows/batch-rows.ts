import type { PolicyMessage } from '../../domain/prompts/policy-prompt.ts';
import type { PlanRules } from '../../domain/training/planning/plan-rules.ts';
import type { Method } from '../../events/schemas/training.ts';

/**
 * A planned batch with everything that its trajectories recorded: what a trainer computes from. Nothing in it is computed or
 * re-tokenised.
 */
export interface BatchRows {
  readonly batch: BatchManifest;
  /** One per sample, in the order of the manifest: group by group in closing order. */
  readonly trajectories: readonly BatchTrajectory[];
}

export interface BatchManifest {
  readonly batchId: string;
  readonly lineageId: string;
  readonly policyId: string;
  readonly ordinal: number;
  /** The newest version when the batch was planned. */
  readonly policyVersion: number;
  readonly estimator: Method;
  readonly rules: PlanRules;
  readonly seed: number;
  readonly manifestHash: string;
  readonly groups: readonly { readonly treeId: string; readonly rolloutIds: readonly string[] }[];
  /** Positions in `trajectories`, per micro-batch. */
  readonly shards: readonly (readonly number[])[];
}

export interface BatchTrajectory {
  readonly rolloutId: string;
  /** The group. */
  readonly treeId: string;
  /** The position of its group in the manifest. */
  readonly group: number;
  readonly runId: string;
  readonly taskId: string;
  readonly environment: string;
  readonly goal: string;
  readonly instruction: string;
  readonly firstObservation: string;
  readonly outcome: 'terminated' | 'truncated' | 'failed' | 'cancelled';
  readonly success: boolean | null;
  /**
   * What its own steps were drawn with: as their prompts say, else as its run does; null where neither says. Steps that differ are
   * not planned.
   */
  readonly temperature: number | null;
  /**
   * `plain-chat`: the run's plan asks for every step with the chat of what happened, and nothing else: no template, no search, no
   * system text moved.
   */
  readonly prompting: 'plain-chat' | 'otherwise';
  /**
   * The path from the root to the leaf. Those before `from` were taken by an earlier rollout of the tree: context, not to be
   * trained.
   */
  readonly steps: readonly BatchStep[];
  readonly from: number;
  /** What could be done in the state after the last step; null where the environment lists none. */
  readonly after: readonly string[] | null;
  /** Rewards of the whole rollout. */
  readonly rewards: readonly BatchReward[];
  /** The score of the greedy rollout of its task; there where the estimator of the batch compares with it. */
  readonly greedyScore?: number;
}

export interface BatchStep {
  readonly stepId: string;
  readonly response: string;
  /** The reply as a message; null where it is `response` and nothing else. */
  readonly message: PolicyMessage | null;
  readonly action: string;
  readonly observation: string;
  /** The admissible actions before the step, in the order that the policy saw; null where the environment lists none. */
  readonly candidates: readonly string[] | null;
  readonly wellFormatted: boolean;
  readonly executable: boolean;
  /** Its prompt lost turns, so that it would fit. */
  readonly trimmed: boolean;
  /** What it was drawn with, as its prompt says; null where none is on record. */
  readonly temperature: number | null;
  readonly termination: 'none' | 'terminated' | 'truncated';
  /** Hash of the environment's state before the action. */
  readonly anchor: string | null;
  /** Null where the engine gave no tokens. */
  readonly tokens: BatchTokens | null;
  readonly spans: readonly PolicySpan[];
  readonly rewards: readonly BatchReward[];
}

/** The sampled tokens of one step as recorded; the arrays have one length. */
export interface BatchTokens {
  readonly ids: Int32Array;
  /** 1: sampled by the policy; 0: shown to it, such as the tokens of an observation. */
  readonly mask: Uint8Array;
  readonly logProbs: Float32Array | null;
}

/** Tokens [from, to) of a step were sampled by this version. */
export interface PolicySpan {
  readonly from: number;
  readonly to: number;
  readonly policyId: string;
  readonly version: number;
}

/** A reward of a component that the batch is trained on. */
export interface BatchReward {
  readonly component: string;
  readonly value: number;
  /** What a unit of the component counts, as the batch was planned. */
  readonly weight: number;
  readonly scorer: { readonly name: string; readonly revision: string };
}

/**
 * The record does not give the rows of a batch: it does not know it (`unknown-batch`), a part is not there (`incomplete`: while
 * the read models lie behind the plan it may still come), arrays do not fit each other (`tokens`), or the blob store lost one
 * (`blob`: it can be restored).
 */
export class RowsError extends Error {
  override readonly name = 'RowsError';
  readonly code: 'unknown-batch' | 'incomplete' | 'tokens' | 'blob';
  constructor(code: RowsError['code'], message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.code = code;
  }

  /** Whether no reader will ever get the rows, given that the read models hold what the planner had read. */
  get unreadable(): boolean {
    return this.code === 'incomplete' || this.code === 'tokens';
  }
}
