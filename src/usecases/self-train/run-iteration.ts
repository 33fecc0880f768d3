import type { Draft } from '../../append/appender.ts';
import { createRandom } from '../../domain/random/random.ts';
import { seedFrom } from '../../domain/random/seed-from.ts';
import { COMPOSE_DEFAULTS } from '../../domain/revision/compose-revisions.ts';
import { type DataOf, TOPICS } from '../../events/catalogue.ts';
import { derivedId } from '../../events/derived-id.ts';
import { openAppender } from '../../platform/open-appender.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { EvaluationRecord } from '../../projections/evaluations/read-evaluations.ts';
import { readMetricNames } from '../../projections/runs/read-metrics.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { collect, RunFailed, throwIfFailed } from '../collect/collect.ts';
import { evaluate } from '../evaluate/evaluate.ts';
import { type RevisionResult, revise } from '../revise/revise.ts';
import type { Learner, Repetition } from './learner.ts';
import { type ReleasedIteration, releaseIteration } from './train-on-release.ts';

const CATCH_UP_MS = 120_000;

/**
 * Searches the iteration's tasks with a learner's policy; returns the run. Its id follows from the policy, so methods that still
 * have the same one share the run, and a resumed self-training finds it.
 */
export async function searchTasks(repetition: Repetition, { policy }: Learner, iteration: number): Promise<string> {
  const { platform, plan, seed, selfTrainId, trainAliases, concurrency, signal } = repetition;
  const runId = derivedId('self-train search', selfTrainId, seed, iteration, policy.digest);
  const drawn = createRandom(seedFrom('self-train tasks', seed, iteration))
    .shuffle(trainAliases)
    .slice(0, plan.trainTasks);
  const collected = await collect(platform, {
    runId,
    name: `self-train search ${iteration}, seed ${seed}`,
    experimentId: selfTrainId,
    seed: seedFrom('self-train search', seed, iteration),
    plan: {
      environment: plan.environment,
      tasks: drawn.map((alias) => ({ alias, rollouts: plan.search.iterations, branching: 'root' })),
      taskSeed: plan.taskSeed,
      policy: policy.text,
      temperature: 1,
      maxSteps: plan.maxSteps,
      search: plan.search,
      ...(plan.prompt ? { prompt: plan.prompt } : {}),
    },
    concurrency,
    signal,
    mode: 'resume',
  });
  signal.throwIfAborted();
  throwIfFailed(runId, collected);
  await settle(platform, signal);
  return runId;
}

/** Mines the revisions of a searched run into the record, by the method's own judge; null for `good-only`, which needs none. */
export async function mineRevisions(
  repetition: Repetition,
  { method }: Learner,
  iteration: number,
  runId: string,
): Promise<RevisionResult | null> {
  if (method !== 'direct' && method !== 'agent-r') return null;
  const { platform, plan, seed, concurrency, signal } = repetition;
  const revised = await revise(platform, {
    runId,
    plan: {
      ...COMPOSE_DEFAULTS,
      ...thresholdsOf(repetition, iteration),
      unparsed: 'continue',
      seed: seedFrom('self-train', seed, iteration),
    },
    judge: method === 'direct' ? 'direct' : plan.judge,
    checking: 'execute',
    environment: null,
    concurrency,
    signal,
  });
  signal.throwIfAborted();
  await settle(platform, signal);
  return revised;
}

/** Freezes what a method learns from in an iteration; null when there is nothing. */
export function releaseFor(
  { platform, plan, seed, selfTrainId, folders, signal, ...repetition }: Repetition,
  { method }: Learner,
  iteration: number,
  runId: string,
  judge: string | null,
): Promise<ReleasedIteration | null> {
  return releaseIteration(platform, {
    name: `self-train-${selfTrainId}.seed-${seed}.${method}.${iteration}`,
    folder: folders.releases,
    format: plan.trainer?.format ?? 'openai',
    thresholds: thresholdsOf({ plan, ...repetition }, iteration),
    runId,
    judge,
    perTask: plan.perTask,
    signal,
  });
}

function thresholdsOf({ plan }: Pick<Repetition, 'plan'>, iteration: number) {
  return { alpha: plan.alphas[iteration - 1] ?? 1, beta: plan.beta };
}

/** Evaluates a learner on the test tasks, with the same draws for every method and iteration of a seed. */
export async function evaluateLearner(
  repetition: Repetition,
  { method, policy }: Learner,
  iteration: number,
  trained: DataOf<'EvaluationFinished'>['trained'],
): Promise<EvaluationRecord> {
  const { platform, plan, seed, selfTrainId, testAliases, concurrency, signal } = repetition;
  const runId = derivedId('self-train evaluation', selfTrainId, seed, method, iteration);
  const { result, collected } = await evaluate(platform, {
    runId,
    name: `self-train ${method} ${iteration}, seed ${seed}`,
    experimentId: selfTrainId,
    seed: seedFrom('self-train evaluation', seed),
    plan: {
      environment: plan.environment,
      tasks: testAliases.map((alias) => ({ alias, rollouts: plan.testRollouts, branching: 'root' })),
      taskSeed: plan.taskSeed,
      policy: policy.text,
      temperature: 1,
      maxSteps: plan.maxSteps,
      search: null,
      ...(plan.prompt ? { prompt: plan.prompt } : {}),
      evaluation: { split: 'test', recoverFrom: null, resamples: 1_000, trained },
    },
    concurrency,
    signal,
    mode: 'resume',
  });
  signal.throwIfAborted();
  if (!result) throw new RunFailed(runId, collected);
  return result;
}

/** Records numbers of an iteration as metrics of its evaluation; those that are on record already are not recorded again. */
export async function recordMetrics(
  { platform }: Repetition,
  runId: string,
  iteration: number,
  values: Readonly<Record<string, number | null>>,
): Promise<void> {
  const { db } = platform.database;
  const metricNames = await readMetricNames(db, runId);
  const drafts = Object.entries(values).flatMap(([metric, value]): Draft[] => {
    if (value === null || metricNames.has(metric)) return [];
    const id = derivedId('MetricRecorded', runId, metric);
    return [{ type: 'MetricRecorded', id, correlationId: runId, data: { runId, metric, value, at: iteration } }];
  });
  if (drafts.length === 0) return;
  await openAppender(platform, 'self-trainer').append(drafts);
}

async function settle({ database, log }: Platform, signal: AbortSignal): Promise<void> {
  await waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: CATCH_UP_MS, signal });
}
