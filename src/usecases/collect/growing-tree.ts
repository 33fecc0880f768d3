import type { Appender } from '../../append/appender.ts';
import type { Tie } from '../../domain/search/best-child.ts';
import type { CountTokens } from '../../domain/search/published-prompt.ts';
import type { EnvironmentKind } from '../../environments/environment.ts';
import type { Policy } from '../../policies/policy.ts';
import type { CollectPlan, PlannedTask } from './plan.ts';
import type { ReadPrefix } from './prefix.ts';
import type { Prompter } from './prompting/step-prompt.ts';
import type { RecordedOpening, RecordedTree } from './recorded-tree.ts';
import type { TreeNode } from './tree-node.ts';

/** Where a tree failed: its task opened otherwise than it had, or the way that its plan goes on behind was not repeated. */
export type FailedAt = 'opening' | 'way';

export interface TreeOptions {
  readonly runId: string;
  readonly seed: number;
  readonly plan: CollectPlan;
  readonly task: PlannedTask;
  readonly treeIndex: number;
  /** What the record holds of this tree; null when it was never opened. */
  readonly tree: RecordedTree | null;
  readonly readPrefix?: ReadPrefix;
  readonly overrides?: Overrides;
  /** There when the plan words the prompts. */
  readonly prompter?: Prompter;
  readonly kind: EnvironmentKind;
  readonly policy: Policy;
  readonly appender: Appender;
  readonly clock: () => number;
  readonly signal: AbortSignal;
  /** The tree is about to be closed. */
  readonly onClosing?: () => void;
  readonly onStep: () => void;
  readonly onRollout: (success: boolean) => void;
  /** The tree was closed as failed: the environment did not repeat what was recorded in it. */
  readonly onFailed: (at: FailedAt) => void;
  /** Called for every rollout that could not go on, and for a search that could not take one step; behind `onRollout`. */
  readonly onFailure: (reason: string) => void;
  /** Called for every rollout, or search, that is left open since what its environment asks is away. */
  readonly onAway: (reason: string) => void;
  /** The task could not be opened, and nothing of it is recorded. */
  readonly onUnopened: (reason: string) => void;
  /** The environment failed in an open tree before its rollouts could begin, or in its search. */
  readonly onLost: (reason: string) => void;
  /**
   * What the environment says of itself was compared with an episode that was played from the opening. `undecided`: the same
   * actions are answered otherwise each time, so that nothing follows.
   */
  readonly onCompared: (verdict: 'same' | 'undecided') => void;
}

/**
 * What the published Agent-R leaves to its overrides: chance and the model's tokenizer. Given, they stand in for what a
 * compatible search makes of the run's seed and for our estimate; `drawTie` must be a function of the tie for a killed search to
 * reach the same tree.
 */
export interface Overrides {
  readonly drawTie?: (tie: Tie) => number;
  readonly countTokens?: CountTokens;
}

/** What the rollouts of a tree share. */
export interface GrowingTree extends TreeOptions {
  readonly treeId: string;
  readonly rootStepId: string;
  readonly opening: RecordedOpening;
  /** Every node so far, in the order it was reached: recorded ones first. */
  readonly nodes: Map<string, TreeNode>;
  /** Who found that the task opens otherwise than this tree did: then the tree is closed as failed. */
  readonly openedOtherwise: Set<string>;
}
