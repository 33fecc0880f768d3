import { join } from 'node:path';
import { BOOTSTRAP_DEFAULTS, bootstrapInterval, type Interval } from '../../domain/evaluation/bootstrap-interval.ts';
import { refuseThresholds } from '../../domain/revision/thresholds.ts';
import type { EnvironmentKind } from '../../environments/environment.ts';
import { openEnvironment } from '../../environments/open-environment.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { derivedId } from '../../events/derived-id.ts';
import { openAppender } from '../../platform/open-appender.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { parseJudgeText } from '../../policies/judge.ts';
import { createPolicy, parsePolicyText } from '../../policies/policy-spec.ts';
import type { EvaluationRecord } from '../../projections/evaluations/read-evaluations.ts';
import { readExperimentsById } from '../../projections/runs/read-experiments.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { forEachOf } from '../collect/all-or-stop.ts';
import { chooseTasks, surveysFolder } from '../collect/choose-tasks.ts';
import { RunRefused, whileHeld } from '../collect/hold-run.ts';
import { refuseUnfit } from '../collect/refuse-unfit.ts';
import { type Learner, type Repetition, startPolicy } from './learner.ts';
import type { Method, SelfTrainPlan } from './plan.ts';
import { evaluateLearner, mineRevisions, recordMetrics, releaseFor, searchTasks } from './run-iteration.ts';
import type { Trainer } from './run-trainer.ts';
import { trainOnRelease } from './train-on-release.ts';

export interface SelfTrainOptions {
  /** The experiment that all its runs belong to. */
  readonly selfTrainId: string;
  readonly plan: SelfTrainPlan;
  /** Trees, or test tasks, at a time, of each seed. */
  readonly concurrency: number;
  /** Seeds at a time. */
  readonly seedsAtATime: number;
  /** Who trains, where the plan says that another program does. */
  readonly trainer?: Trainer | null;
  readonly signal: AbortSignal;
  readonly onResult?: (result: IterationResult) => void;
}

/** What a method had achieved after an iteration; iteration 0 is the policy it began with. */
export interface IterationResult {
  readonly method: Method;
  readonly seed: number;
  readonly iteration: number;
  readonly evaluation: EvaluationRecord;
}

/**
 * Lets a policy improve itself (specification of Agent-R, §3.1), once for each method and seed: search tasks of the train split,
 * mine the revisions that the method trains on, release them with the good trajectories, train on the released file, evaluate on
 * the test split, and again with the next alpha. Every run, its seeds and its ids follow from the plan and the id: begun again
 * after a kill with the same ones, it finds what is on record, goes on behind it, and ends with the same releases and weights. A
 * projector must be running.
 * @throws RunRefused for thresholds that accept nothing, an environment that has no train and test split, or another process that
 * does the same; RunFailed when nothing of a search or an evaluation could go on; PolicyUnfit, TrainerFailed, DatasetError,
 * JudgeUnfit, PolicySpecError: each says what to do.
 */
export async function selfTrain(platform: Platform, training: SelfTrainOptions): Promise<readonly IterationResult[]> {
  const { plan, selfTrainId } = training;
  for (const alpha of plan.alphas) {
    const wrong = refuseThresholds({ alpha, beta: plan.beta });
    if (wrong !== null) throw new RunRefused(wrong);
  }
  refuseUntrainable(plan, training.trainer ?? null);
  return whileHeld(platform, selfTrainId, training.signal, (signal) => repeatAll(platform, { ...training, signal }));
}

/** Refuses now what would only come out after the first searches. @throws RunRefused, PolicySpecError, JudgeUnfit. */
function refuseUntrainable({ trainer, policy, methods, judge }: SelfTrainPlan, command: Trainer | null): void {
  if (trainer !== null && command === null) throw new RunRefused('the plan names a trainer of its own; name its command');
  const { kind } = parsePolicyText(policy);
  if (trainer === null && kind !== 'linear')
    throw new RunRefused(
      `only the linear policy can be trained here, not ${kind}; name a command that trains it, or begin with linear`,
    );
  if (methods.includes('agent-r')) parseJudgeText(judge, policy);
}

async function repeatAll(platform: Platform, training: SelfTrainOptions): Promise<readonly IterationResult[]> {
  const { plan, selfTrainId, signal } = training;
  const { home } = platform.config;
  const folders = { weights: join(home, 'weights'), releases: join(home, 'self-train', selfTrainId) };
  const kind = await openEnvironment(plan.environment);
  try {
    const train = await chooseTasks(kind, kind.taskAliases.length, 0, 'train', surveysFolder(home));
    const test = await chooseTasks(kind, plan.testTasks, 0, 'test', surveysFolder(home));
    if (train.length === 0 || test.length === 0)
      throw new RunRefused(
        `${plan.environment} has ${train.length} tasks of the split train and ${test.length} of the split test; name the split of each task in its list of tasks, or where a task begins`,
      );
    await refusePolicy(kind, plan, train);
    await declare(platform, training);
    const results: IterationResult[] = [];
    await forEachOf(plan.seeds, { signal, concurrency: training.seedsAtATime }, async (seed, either) => {
      const repetition: Repetition = {
        platform,
        selfTrainId,
        plan,
        seed,
        kind,
        folders,
        concurrency: training.concurrency,
        signal: either,
        trainer: training.trainer ?? null,
        trainAliases: train.map(({ alias }) => alias),
        testAliases: test.map(({ alias }) => alias),
      };
      await repeatOnce(repetition, (result) => {
        results.push(result);
        training.onResult?.(result);
      });
      return undefined;
    });
    return results.sort(
      (a, b) => plan.methods.indexOf(a.method) - plan.methods.indexOf(b.method) || a.seed - b.seed || a.iteration - b.iteration,
    );
  } finally {
    await kind.close();
  }
}

/** Refuses a policy that cannot act, before anything is declared. @throws PolicyUnfit. */
async function refusePolicy(kind: EnvironmentKind, plan: SelfTrainPlan, tasks: readonly { alias: string }[]): Promise<void> {
  const policy = await createPolicy(parsePolicyText(plan.policy));
  try {
    await refuseUnfit(kind, policy, { tasks, taskSeed: plan.taskSeed });
  } finally {
    await policy.close();
  }
}

async function repeatOnce(repetition: Repetition, report: (result: IterationResult) => void): Promise<void> {
  const { plan, seed, folders } = repetition;
  const start = { policy: await startPolicy(folders.weights, plan.policy), runIds: [], datasetIds: [] };
  const base = await evaluateLearner(repetition, { ...start, method: 'base' }, 0, null);
  for (const method of plan.methods) {
    report({ method, seed, iteration: 0, evaluation: base });
    if (method === 'base') continue;
    let learner: Learner = { ...start, method };
    for (let iteration = 1; iteration <= plan.alphas.length; iteration++) {
      const { evaluation, after } = await iterate(repetition, learner, iteration);
      learner = after;
      report({ method, seed, iteration, evaluation });
    }
  }
}

/**
 * Goes once around: trees, revisions, a release of them, weights from the release, and what those achieve; each names the one
 * before.
 */
async function iterate(
  repetition: Repetition,
  learner: Learner,
  iteration: number,
): Promise<{ readonly evaluation: EvaluationRecord; readonly after: Learner }> {
  const { method } = learner;
  const runId = await searchTasks(repetition, learner, iteration);
  const revised = await mineRevisions(repetition, learner, iteration, runId);
  const released = await releaseFor(repetition, learner, iteration, runId, revised?.judge ?? null);
  // Nothing to learn from means nothing learned: the policy stays.
  const training = released && (await trainOnRelease(repetition, learner, iteration, released));
  const after: Learner = {
    method,
    policy: training?.policy ?? learner.policy,
    runIds: [...learner.runIds, runId],
    datasetIds: released ? [...learner.datasetIds, released.dataset.id] : learner.datasetIds,
  };
  const revisionLength = method === 'agent-r' ? (revised?.meanRevisionLength ?? null) : null;
  const evaluation = await evaluateLearner(repetition, after, iteration, {
    method,
    iteration,
    weights: after.policy.digest,
    runIds: [...after.runIds],
    datasetIds: [...after.datasetIds],
    good: released?.good ?? 0,
    revisions: released?.revisions ?? 0,
    actions: training?.actions ?? 0,
    revisionLength,
  });
  const rejected = revised && revised.rejected.diverged + revised.rejected.impossible + revised.rejected.below;
  await recordMetrics(repetition, evaluation.runId, iteration, {
    'mined.pairs': revised?.pairs ?? null,
    'mined.verified': revised?.verified ?? null,
    'mined.rejected': rejected,
    'mined.revision-length': revisionLength,
    'train.good': released?.good ?? 0,
    'train.revisions': released?.revisions ?? 0,
    'train.actions': training?.actions ?? 0,
    'train.loss.first': training?.losses[0] ?? null,
    'train.loss.last': training?.losses.at(-1) ?? null,
  });
  return { evaluation, after };
}

async function declare(platform: Platform, { selfTrainId, plan }: SelfTrainOptions): Promise<void> {
  const { db } = platform.database;
  await waitUntilProjected(db, await platform.log.ends(TOPICS), { timeoutMs: 60_000 });
  const question = `How far does the linear policy get by training on what it finds itself? ${JSON.stringify(plan)}`;
  const [known] = await readExperimentsById(db, [selfTrainId]);
  if (known && known.question !== question)
    throw new RunRefused(`self-training ${selfTrainId} was begun with another plan; repeat the options it was begun with`);
  if (known) return;
  const data = { experimentId: selfTrainId, name: 'self-train', question };
  const id = derivedId('ExperimentDeclared', selfTrainId);
  await openAppender(platform, 'self-trainer').append([{ type: 'ExperimentDeclared', id, correlationId: selfTrainId, data }]);
}

/** What a method had achieved after an iteration, over its seeds. */
export interface Summary {
  readonly method: Method;
  readonly iteration: number;
  readonly seeds: number;
  readonly success: number;
  /**
   * Over the seeds: how much another repetition may differ on these test tasks. What other tasks would say is in each
   * evaluation's own.
   */
  readonly interval: Interval;
  readonly meanSteps: number;
  /** Actions repeated at once, per episode. */
  readonly repeats: number;
  /** Good trajectories and revisions trained on in that iteration, per seed. */
  readonly good: number;
  readonly revisions: number;
}

/** Sums results up by method and iteration, in the order in which they first stand. */
export function summarise(results: readonly IterationResult[]): readonly Summary[] {
  const groups = new Map<string, IterationResult[]>();
  for (const result of results) {
    const key = `${result.method} ${result.iteration}`;
    groups.set(key, [...(groups.get(key) ?? []), result]);
  }
  return [...groups.values()].flatMap((group): Summary[] => {
    const first = group[0];
    if (!first) return [];
    const mean = (of: (result: IterationResult) => number) => group.reduce((sum, result) => sum + of(result), 0) / group.length;
    const rates = group.map(({ evaluation }) => [evaluation.successRate]);
    return [
      {
        method: first.method,
        iteration: first.iteration,
        seeds: group.length,
        success: mean(({ evaluation }) => evaluation.successRate),
        interval: bootstrapInterval(rates, { ...BOOTSTRAP_DEFAULTS, seed: 1 }),
        meanSteps: mean(({ evaluation }) => evaluation.meanSteps),
        repeats: mean(({ evaluation }) => evaluation.repeatedActions.find(({ length }) => length === 1)?.perEpisode ?? 0),
        good: mean(({ evaluation }) => evaluation.trained?.good ?? 0),
        revisions: mean(({ evaluation }) => evaluation.trained?.revisions ?? 0),
      },
    ];
  });
}
