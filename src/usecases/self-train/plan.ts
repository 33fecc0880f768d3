import type { PromptPlan } from '../collect/prompting/prompt-plan.ts';
import type { RowFormat } from '../datasets/rows/row-options.ts';

/**
 * How a policy improves itself, by what it is trained on (specification of Agent-R, §2.5, §3.1). `base`: nothing; `good-only`:
 * its good trajectories; `direct`: those, and revisions that keep the whole bad trajectory; `agent-r`: those, and revisions that
 * turn back at the first error.
 */
export const METHODS = ['base', 'good-only', 'direct', 'agent-r'] as const;
export type Method = (typeof METHODS)[number];

/** What another trainer can be given; preferences (dpo) are not made of good trajectories. */
export const TRAIN_FORMATS = ['agent-r', 'xtuner', 'sharegpt', 'openai', 'trl'] as const satisfies readonly RowFormat['kind'][];

export interface SelfTrainPlan {
  readonly environment: string;
  readonly methods: readonly Method[];
  /** Alpha of each iteration; its length is their number. */
  readonly alphas: readonly number[];
  readonly beta: number;
  /** The policy that every method begins with: `linear`, or what a trainer named by `trainer` can go on from. */
  readonly policy: string;
  /**
   * Who finds the first error for `agent-r`, as `revise` takes it. To `planner` a step that wastes a round is uncertain, so
   * that few bad trajectories have an error; to `planner-strict` it is one.
   */
  readonly judge: string;
  /** Null: behaviour cloning of the linear policy. Else another program trains, on releases of this format. */
  readonly trainer: { readonly format: (typeof TRAIN_FORMATS)[number] } | null;
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
  /** What tasks are reset with. */
  readonly taskSeed: number;
  /** Tasks of the split `test`, spread over the depths; the same every time. */
  readonly testTasks: number;
  readonly testRollouts: number;
  readonly maxSteps: number;
  /** How searches and evaluations ask; left out, by the environment's own chat. */
  readonly prompt?: PromptPlan;
  /** Epochs of the first iteration, and of those after it (the paper: 3, then 1). */
  readonly epochs: { readonly first: number; readonly later: number };
  readonly learningRate: number;
  /** The most good trajectories, and the most revisions, of one task: deep trees would drown the others. */
  readonly perTask: number;
}

/**
 * Sized for the shipped TextCraft pack and minutes on two cores: some hundred environment steps for an iteration's searches, 25
 * test tasks (every fifth goal). Chosen by the time they take; the learning rate is one at which the loss falls in the first
 * epoch.
 */
export const SELF_TRAIN_DEFAULTS: Omit<SelfTrainPlan, 'environment' | 'methods' | 'seeds'> = {
  alphas: [0.5, 0.7, 1],
  beta: 0.2,
  policy: 'linear',
  judge: 'planner',
  trainer: null,
  taskSeed: 0,
  trainTasks: 16,
  search: { iterations: 3, candidates: 3, maxDepth: 12, exploration: 0.25 },
  testTasks: 25,
  testRollouts: 2,
  maxSteps: 20,
  epochs: { first: 3, later: 1 },
  learningRate: 0.05,
  perTask: 8,
};
