import { z } from 'zod';
import { trainedOn } from '../../events/schemas/evaluations.ts';
import { CHANNELS } from '../../events/schemas/training.ts';
import { id, name } from '../../events/schemas/values.ts';
import { promptPlan } from './prompting/prompt-plan.ts';

/**
 * What the rollouts of a run are for, where they belong to a policy that is trained. `strict`: every group walks with one
 * version, the newest when it began, and none begins that would be older when it is trained. `bounded`: steps follow the newest
 * version, and no span gets older than `maxStaleness` versions. Only groups of the channel `train` feed batches and are held
 * back.
 */
export const trainingPlan = z.strictObject({
  policyId: name,
  channel: z.enum(CHANNELS),
  mode: z.enum(['strict', 'bounded']),
  maxStaleness: z.int().min(0).max(1_000_000),
  /** The version after which no further group is wanted; null: every planned task is collected. */
  untilVersion: z.int().min(1).nullable(),
});

/**
 * There when the rollouts of a task are to go on behind recorded actions, which are taken again first: behind the first `steps`
 * of a rollout, or behind a step of any tree, `steps` below its root. Every answer of the environment is compared with the
 * recorded one.
 */
const behind = z.union([
  z.strictObject({ treeId: id, rolloutId: id, steps: z.int().min(1).max(10_000) }),
  z.strictObject({ treeId: id, stepId: id, steps: z.int().min(0).max(10_000) }),
]);
export type VersionLag = z.infer<typeof behind>;

/**
 * What a collection is to do, besides its seed. It is recorded as the configuration of the run, and a resumed run must say the
 * same. `branching`: 'root' starts every rollout of a tree at its root (a group); 'anywhere' starts all but the first at a node
 * drawn from the tree so far (a bushy tree).
 */
export const collectPlan = z.strictObject({
  environment: z.string().min(1).max(2_000),
  tasks: z
    .array(
      z.strictObject({
        alias: z.string(),
        rollouts: z.int().min(1).max(100_000),
        branching: z.enum(['root', 'anywhere']),
        behind: behind.optional(),
      }),
    )
    .min(1)
    .max(1_000_000),
  /** Seeds the tasks themselves (what an environment draws at reset): the same for all runs that are to meet the same tasks. */
  taskSeed: z.int(),
  policy: z.string().max(2_000),
  temperature: z.number().min(0).max(100),
  maxSteps: z.int().min(1).max(10_000),
  /**
   * Set for a Monte-Carlo tree search of every task in place of rollouts: its walks, replies per node, depth limit and constant
   * of UCT.
   */
  search: z
    .strictObject({
      iterations: z.int().min(1).max(100_000),
      candidates: z.int().min(1).max(128),
      maxDepth: z.int().min(0).max(10_000),
      exploration: z.number().min(0).max(1_000),
      /** There when the search follows the rules of the published Agent-R: ties, prompts, replies, observations, scores. */
      compat: z
        .strictObject({
          system: z.literal('agent-r'),
          /** Its MAX_TOKEN_LENGTH: longer prompts are cut in its way. */
          maxTokenLength: z.int().min(61).nullable(),
          /**
           * What a whole reward is there: 100 in ScienceWorld, 1 elsewhere. Its UCT sees scores on this scale; the record is
           * normalised.
           */
          rewardScale: z.number().positive(),
        })
        .optional(),
    })
    .nullable(),
  /** There when prompts are other than the environment's own chat: worded by a template, the history as text or image. */
  prompt: promptPlan.optional(),
  /** There when a person talks with the policy: what they say is the end of observations, and only they can go on. */
  chat: z.literal(true).optional(),
  /** There when the rollouts belong to a policy that is trained. */
  training: trainingPlan.optional(),
  /** There when the run goes on from a recorded step of another one: where it comes from. */
  fork: z.strictObject({ runId: id, treeId: id, stepId: id }).optional(),
  /** There when the rollouts are to measure the policy: what is measured, over which split, and the data that made the policy. */
  evaluation: z
    .strictObject({
      split: name.nullable(),
      /** The run whose failed rollouts the episodes go on behind; null when they begin at the first observation. */
      recoverFrom: id.nullable(),
      resamples: z.int().min(1).max(1_000_000),
      trained: trainedOn.nullable(),
    })
    .optional(),
});
export type CollectPlan = z.infer<typeof collectPlan>;
export type SearchPlan = NonNullable<CollectPlan['search']>;
export type PlannedTask = CollectPlan['tasks'][number];
