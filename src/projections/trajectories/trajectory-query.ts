/** Which trajectories (finished rollouts) to take; null takes all. Lists are alternatives; different filters must all hold. */
export interface TrajectoryQuery {
  readonly runs: readonly string[] | null;
  readonly environments: readonly string[] | null;
  /** Task ids, or aliases of the environment. */
  readonly tasks: readonly string[] | null;
  readonly splits: readonly string[] | null;
  readonly outcomes: readonly TrajectoryOutcome[] | null;
  readonly success: boolean | null;
  /** Bounds of the return, both included. */
  readonly returnMin: number | null;
  readonly returnMax: number | null;
  readonly policies: readonly PolicyFilter[] | null;
  /** When the rollout finished: [from, before), ISO 8601 in UTC. */
  readonly finishedFrom: string | null;
  readonly finishedBefore: string | null;
  /** Annotated with one of these labels, or a step that it took; left out: any. */
  readonly labels?: readonly string[];
  /** Annotated with none of these. */
  readonly withoutLabels?: readonly string[];
  /** What becomes of rollouts with calls next to their path that may belong to it; left out: rows are refused. */
  readonly unclear?: 'keep' | 'drop';
}
export type TrajectoryOutcome = (typeof OUTCOMES)[number];

export const OUTCOMES = ['terminated', 'truncated', 'failed', 'cancelled'] as const;

export const everyTrajectory: TrajectoryQuery = {
  runs: null,
  environments: null,
  tasks: null,
  splits: null,
  outcomes: null,
  success: null,
  returnMin: null,
  returnMax: null,
  policies: null,
  finishedFrom: null,
  finishedBefore: null,
};

/** A policy; version null takes every version. */
export interface PolicyFilter {
  readonly policyId: string;
  readonly version: number | null;
}
