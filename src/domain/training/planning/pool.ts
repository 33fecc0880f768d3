import type { Rejection } from './judge-group.ts';

/** A finished rollout as the planner sees it. Lengths are tokens. */
export interface PoolSample {
  readonly rolloutId: string;
  /** Its place among the rollouts of its group. */
  readonly ordinal: number;
  readonly outcome: 'terminated' | 'truncated' | 'failed' | 'cancelled';
  /** Steps that it took itself. */
  readonly steps: number;
  /** Tokens that a policy sampled, all steps together. */
  readonly sampledTokens: number;
  /** The longest prompt with its response: the length of the trajectory as one row. */
  readonly contextTokens: number;
  /** Prompts and responses of all steps: the length of its step rows together. */
  readonly rowTokens: number;
  /** The versions of its spans; null where it has none. */
  readonly oldestVersion: number | null;
  readonly newestVersion: number | null;
  /** The policies that sampled its spans. */
  readonly policies: readonly string[];
  /** Steps that lack log-probabilities, or the hash of the state before the action. */
  readonly withoutLogProbs: number;
  readonly withoutAnchor: number;
  /** The sum of each reward component that it got. */
  readonly scores: Readonly<Record<string, number>>;
  /** What was recorded of it before; null: nothing yet. */
  readonly rejected: Rejection | null;
}

/** A group with samples that are neither trained, nor planned, nor all rejected. */
export interface PoolGroup {
  readonly treeId: string;
  /** `closed` too when its run is over and left it open; `taken` when a batch holds it, and `samples` are those that finished too late. */
  readonly state: 'open' | 'closed' | 'taken';
  /** The members that were planned. */
  readonly planned: number;
  /** Its finished members that no batch holds, by ordinal. */
  readonly samples: readonly PoolSample[];
  /** Whether the greedy rollout of its task by the same version is finished (ReMax). */
  readonly greedy: 'there' | 'missing';
}

/** Where a policy stands: its newest version, and its planned batches. */
export interface LineageState {
  readonly policyId: string;
  readonly newestVersion: number;
  /** Batches that were planned: the ordinal of the next one. */
  readonly planned: number;
  /** Of them, those that a version came of. */
  readonly trained: number;
}
