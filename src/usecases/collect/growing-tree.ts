import type { Appender } from '../../append/appender.ts';
import type { RememberedPrompt } from '../../append/shown-prompt.ts';
import type { Tie } from '../../domain/search/best-child.ts';
import type { CountTokens } from '../../domain/search/published-prompt.ts';
import type { SearchFact } from '../../domain/search/search-facts.ts';
import type { EnvironmentKind, Opening, StepResult } from '../../environments/environment.ts';
import type { PictureIds } from '../../environments/same-observation.ts';
import type { PolicyRef } from '../../events/schemas/values.ts';
import type { Picture } from '../../images/observation-pictures.ts';
import type { Act, Policy } from '../../policies/policy.ts';
import type { RecordedStep } from '../../projections/step-tree/read-recorded-steps.ts';
import type { CollectPlan, PlannedTask, VersionLag } from './plan.ts';
import type { Prompter } from './prompting/prompt-plan.ts';

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

/** A node of a growing tree: what the prompt of a step below it is made of. */
export interface TreeNode {
  readonly stepId: string;
  readonly parentStepId: string | null;
  readonly depth: number;
  readonly response: string;
  readonly action: string;
  readonly observation: string;
  /** Pictures of the observation, in order. */
  readonly pictures?: readonly Picture[];
  readonly admissibleActions: readonly string[] | null;
  /** Null where the environment does not show its state. */
  readonly stateHash: string | null;
  /** Nothing can follow: the environment ended, or a limit was reached. */
  readonly ended: boolean;
  /** Version of the policy that answered with its action; 0 at the root. */
  readonly policyVersion: number;
  /** The prompt that led to it; null where none was shown, or none is recorded. */
  readonly prompt: RememberedPrompt | null;
}

/** All replies of one call of the model at a node of a search, and how long the call took. */
export interface SampledReplies {
  readonly acts: readonly Act[];
  readonly policyMs: number;
}

export interface RecordedRollout {
  readonly rolloutId: string;
  readonly fromStepId: string;
  readonly outcome: string | null;
  readonly success: boolean | null;
  readonly reason: string;
}

/** What the record holds of how a task opened. */
export type RecordedOpening = Pick<
  Opening,
  'goal' | 'instruction' | 'observation' | 'pictures' | 'admissibleActions' | 'stateHash'
>;

/** What the record holds of one tree: enough to go on where it ends. Steps are in the order in which they were taken. */
export interface RecordedTree {
  /** Why it was closed; null while it is open. */
  readonly closed: string | null;
  /** The failure of the environment that closed it; null where none did. */
  readonly fault: string | null;
  readonly opening: RecordedOpening;
  readonly rollouts: ReadonlyMap<number, RecordedRollout>;
  readonly steps: ReadonlyMap<string, RecordedStep>;
  /** What happened in a search of it, in log order. */
  readonly searchFacts: readonly SearchFact[];
  /** What the model said at nodes of a search that are not expanded yet. */
  readonly replies: ReadonlyMap<string, SampledReplies>;
  /** The pictures of observations, by the step that they followed. */
  readonly pictures: ReadonlyMap<string, readonly Picture[]>;
  /** The prompts of its steps, where they are recorded. */
  readonly prompts: ReadonlyMap<string, RememberedPrompt>;
  /** The steps that the environment was found not to repeat, the root too; empty where it is closed. */
  readonly diverged: readonly string[];
  /** What the environment answered at steps of a search that goes on, where the record holds it whole; pictures apart. */
  readonly answers?: ReadonlyMap<string, StepResult>;
  /** Steps that carry a reward already. */
  readonly rewarded: ReadonlySet<string>;
}

/** A recorded step that is taken again as it was: what was said, by which policy, what was executed, and what must come of it. */
export interface PolicyStep {
  readonly response: string;
  readonly policy: PolicyRef;
  readonly taken: PrefixStep;
}

/** What a step was, and its result. */
export interface PrefixStep {
  readonly thought: string;
  readonly action: string;
  readonly wellFormatted: boolean;
  readonly observation: string;
  readonly pictures?: PictureIds | undefined;
  /** The environment's. */
  readonly reward: number;
  readonly termination: 'none' | 'terminated' | 'truncated';
  /** Null where the environment does not show its state. */
  readonly stateHash: string | null;
}

export interface Prefix {
  /** The task's first observation with its pictures, and the state there; null where the record has none. */
  readonly observation: string | null;
  readonly pictures?: PictureIds | undefined;
  readonly stateHash: string | null;
  readonly steps: readonly PolicyStep[];
}

/** Reads the steps that a planned task goes on behind, in order. */
export type ReadPrefix = (behind: VersionLag) => Promise<Prefix>;
