/**
 * How a policy improves itself, by what it is trained on (specification of Agent-R, §2.5, §3.1). `base`: nothing; `good-only`: its good trajectories;
 * `direct`: those, and revisions that keep the whole bad trajectory; `agent-r`: those, and revisions that turn back at the first error.
 */
export const METHODS = ['base', 'good-only', 'direct', 'agent-r'] as const;
export type Method = (typeof METHODS)[number];

export const JUDGES = ['planner', 'planner-strict'] as const;

export interface SelfTrainPlan {
  readonly environment: string;
  readonly methods: readonly Method[];
  /** Alpha of each iteration; its length is their number. */
  readonly alphas: readonly number[];
  readonly beta: number;
  /**
   * Who finds the first error for `agent-r`. `planner`: the judge of that name, to whom a step that wastes a round is uncertain, so that few bad
   * trajectories have an error; `planner-strict`: the same plans, and a step after which the goal is no nearer is bad.
   */
  readonly judge: (typeof JUDGES)[number];
  /** The seeds that everything is repeated with. */
  readonly seeds: readonly number[];
  /** Tasks of the split `train` searched in each iteration, drawn by seed and iteration: the same for every method. */
  readonly trainTasks: number;
  readonly search: {
    readonly iterations: number;
    readonly candidates: number;
    readonly maxDepth: number;
    readonly exploration: number;
  };
  /** Tasks of the split `test`, spread over the depths; the same every time. */
  readonly testTasks: number;
  readonly testRollouts: number;
  readonly maxSteps: number;
  /** Epochs of the first iteration, and of those after it (the paper: 3, then 1). */
  readonly epochs: { readonly first: number; readonly later: number };
  readonly learningRate: number;
  /** The most good trajectories, and the most revisions, of one task: deep trees would drown the others. */
  readonly perTask: number;
}

/**
 * Sized for the shipped TextCraft pack and minutes on two cores: some hundred environment steps for an iteration's searches, 25 test tasks (every
 * fifth goal). Chosen by the time they take; the learning rate is one at which the loss falls in the first epoch.
 */
export const SELF_TRAIN_DEFAULTS: Omit<SelfTrainPlan, 'environment' | 'methods' | 'seeds'> = {
  alphas: [0.5, 0.7, 1],
  beta: 0.2,
  judge: 'planner',
  trainTasks: 16,
  search: { iterations: 3, candidates: 3, maxDepth: 12, exploration: 0.25 },
  testTasks: 25,
  testRollouts: 2,
  maxSteps: 20,
  epochs: { first: 3, later: 1 },
  learningRate: 0.05,
  perTask: 8,
};
