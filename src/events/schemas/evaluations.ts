import { z } from 'zod';
import { count, counter, finite, id, name, policyRef, sha256 } from './values.ts';

const share = z.number().min(0).max(1);

/** A percentile interval over resamples of the tasks, drawn from `seed`: whoever has the episodes can draw it again. */
const interval = z.strictObject({ low: finite, high: finite });

/** The data that the platform trained a policy on. */
export const trainedOn = z.strictObject({
  method: name,
  iteration: count,
  /** The weights' SHA-256; of a policy that is no file of weights, that of its description and the data it was trained on. */
  weights: sha256,
  /** The runs whose trajectories they were trained on, all iterations together. */
  runIds: z.array(id).max(10_000),
  /** The released datasets that they were trained on, one after the other; the last one made this version of the last one's. */
  datasetIds: z.array(id).max(10_000).optional(),
  good: counter,
  revisions: counter,
  /** Mean number of steps that a judge looked at for a revision, in the last iteration; null where none was judged. */
  revisionLength: finite.nullable().optional(),
  /** Actions with loss, in the last iteration. */
  actions: counter,
});

/**
 * What a policy achieved on a set of tasks: computed from the rollouts of the run, and recorded so that a table or a plot of many runs needs
 * no rollouts. `trained` names the data that made the policy, where the platform trained it.
 */
export const evaluationFinished = z.strictObject({
  runId: id,
  policy: policyRef,
  environment: name,
  split: name.nullable(),
  tasks: count,
  episodes: count,
  meanReturn: finite,
  returnInterval: interval,
  successRate: share,
  successInterval: interval,
  bootstrap: z.strictObject({ confidence: share, resamples: count, seed: z.int() }),
  meanSteps: finite,
  /** Mean count per episode of sequences of `length` actions that are repeated on the spot (Agent-R's loop metric). */
  repeatedActions: z.array(z.strictObject({ length: count, perEpisode: finite })).max(100),
  byDepth: z.array(z.strictObject({ taskDepth: count.nullable(), episodes: count, successes: count })).max(10_000),
  /** The failed trajectories that the episodes went on from; null when they began at the first observation. */
  recovery: z.strictObject({ fromRunId: id }).nullable(),
  trained: trainedOn.nullable(),
});
