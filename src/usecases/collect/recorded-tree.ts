import type { RememberedPrompt } from '../../append/shown-prompt.ts';
import type { SearchFact } from '../../domain/search/search-facts.ts';
import type { Opening, StepResult } from '../../environments/environment.ts';
import type { Picture } from '../../images/picture.ts';
import type { Act } from '../../policies/policy.ts';
import type { RecordedStep } from '../../projections/step-tree/read-recorded-steps.ts';

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
  /** The steps that the environment was found not to repeat, the root too; empty where it was closed for anything but a failure. */
  readonly diverged: readonly string[];
  /** What the environment answered at steps of a search that goes on, where the record holds it whole; pictures apart. */
  readonly answers?: ReadonlyMap<string, StepResult>;
  /** Steps that carry a reward already. */
  readonly rewarded: ReadonlySet<string>;
}
