import type { RecordFault, Rejection } from './record-fault.ts';

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
  /** When it finished, and when it had a reward of each awaited component (null: not yet), ms since 1970. */
  readonly finishedMs: number;
  readonly scoredMs: number | null;
  /** Why its rows cannot be read or trained on, as its record says; null where nothing is wrong or nobody looked yet. */
  readonly recordFault: RecordFault | null;
  /** What was recorded of it before; null: nothing yet. */
  readonly rejected: Rejection | null;
}

/** A group with samples that are neither trained, nor planned, nor all rejected. */
export interface PoolGroup {
  readonly treeId: string;
  /** When it closed, or when its run ended and left it open, ms since 1970; null while it is open. */
  readonly closedMs: number | null;
  /** Whether a batch holds it; `samples` are then those that finished too late. */
  readonly taken: boolean;
  /** The members that were planned. */
  readonly planned: number;
  /** Its finished members that no batch holds, by ordinal. */
  readonly samples: readonly PoolSample[];
  /** When the greedy rollout of its task by the same version finished (ReMax), ms since 1970; null while there is none. */
  readonly greedyMs: number | null;
}

/** The state of a policy: its newest version, and its planned batches. */
export interface LineageState {
  readonly policyId: string;
  readonly newestVersion: number;
  /** Batches that were planned: the ordinal of the next one. */
  readonly planned: number;
  /** Of them, those that produced a version, and those that were abandoned: they will produce none. */
  readonly trained: number;
  readonly abandoned: number;
}
