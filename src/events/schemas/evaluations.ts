import { z } from 'zod';
import { count, counter, environment, eventData, finite, id, name, policyRef, runId, sha256 } from './values.ts';

const share = z.number().min(0).max(1);

/** A percentile interval over resamples of the tasks, drawn from `seed`: whoever has the episodes can draw it again. */
const interval = z.strictObject({
  low: finite.describe('Lower end of the interval.'),
  high: finite.describe('Upper end of the interval.'),
});

/** The data that the platform trained a policy on. */
export const trainedOn = z.strictObject({
  method: name.describe('Method that produced the training data, for example `good-only`, `direct` or `agent-r`.'),
  iteration: count.describe('Iteration of self-training that the policy comes from.'),
  weights: sha256.describe('SHA-256 of the weights; for a policy without weights, of its description and its training data.'),
  runIds: z.array(id).max(10_000).describe('UUIDs of the runs whose trajectories were trained on, over all iterations.'),
  datasetIds: z
    .array(id)
    .max(10_000)
    .optional()
    .describe('UUIDs of the datasets trained on, in order, of which the last made this version; absent when not recorded.'),
  good: counter.describe('Number of good trajectories in the training data of the last iteration.'),
  revisions: counter.describe('Number of revisions in the training data of the last iteration.'),
  revisionLength: finite
    .nullable()
    .optional()
    .describe('Mean number of steps judged per revision of the last iteration; null when none was; absent when unknown.'),
  actions: counter.describe('Number of actions with loss in the training data of the last iteration.'),
});

/** Computed from the rollouts of the run, and recorded so that a table or a plot of many runs needs no rollouts. */
export const evaluationFinished = eventData('The policy of a run was evaluated on a set of tasks.', {
  runId,
  policy: policyRef.describe('Policy that was evaluated.'),
  environment,
  split: name.nullable().describe('Split that the tasks were taken from; null when they were not chosen by a split.'),
  tasks: count.describe('Number of tasks.'),
  episodes: count.describe('Number of episodes over all tasks.'),
  rewarded: counter
    .optional()
    .describe('Number of episodes with a reward, as the others have no return; absent when not recorded.'),
  meanReturn: finite.nullable().describe('Mean return per episode with a reward; null without one.'),
  returnInterval: interval.nullable().describe('Bootstrap interval of the mean return; null without one.'),
  successRate: share.describe('Share of episodes that succeeded, from 0 to 1; failed and truncated episodes count as failures.'),
  successInterval: interval.describe('Bootstrap interval of the success rate.'),
  bootstrap: z
    .strictObject({
      confidence: share.describe('Confidence level of the intervals, for example 0.95.'),
      resamples: count.describe('Number of resamples.'),
      seed: z.int().describe('Seed of the resampling.'),
    })
    .describe('Parameters of the percentile bootstrap, which resamples whole tasks with replacement.'),
  meanSteps: finite.describe('Mean number of actions per episode.'),
  repeatedActions: z
    .array(
      z.strictObject({
        length: count.describe('Number of actions in the repeated sequence.'),
        perEpisode: finite.describe('Mean number of repetitions per episode.'),
      }),
    )
    .max(100)
    .describe('Immediate repetitions of action sequences by their length (the loop metric of Agent-R).'),
  byDepth: z
    .array(
      z.strictObject({
        taskDepth: count.nullable().describe('Depth of the tasks; null for tasks without a depth.'),
        episodes: count.describe('Number of episodes on tasks of this depth.'),
        successes: count.describe('Number of these episodes that succeeded.'),
      }),
    )
    .max(10_000)
    .describe('Success by depth of the task, lowest depth first.'),
  recovery: z
    .strictObject({ fromRunId: id.describe('UUID of the run whose failed trajectories the episodes continue.') })
    .nullable()
    .describe('Failed trajectories that the episodes continue; null when they begin at the first observation.'),
  trained: trainedOn.nullable().describe('Data that the policy was trained on; null when the platform did not train it.'),
});
