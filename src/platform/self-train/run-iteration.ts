import { createAppender, type Draft } from '../../append/appender.ts';
import { createRandom } from '../../domain/random/random.ts';
import { seedFrom } from '../../domain/random/seed-from.ts';
import type { EnvironmentKind } from '../../environments/environment.ts';
import type { DataOf } from '../../events/catalogue.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { derivedId } from '../../events/derived-id.ts';
import type { LinearWeights } from '../../policies/linear/weights.ts';
import type { EvaluationRecord } from '../../projections/evaluations/read-evaluations.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { type ClonedAction, cloneBehaviour } from '../../training/clone-behaviour.ts';
import type { WeightsFile } from '../../training/weights-file.ts';
import { CODE_VERSION } from '../code-version.ts';
import { collectInto } from '../collect-into.ts';
import { evaluateInto } from '../evaluate-into.ts';
import { nextSequence } from '../next-sequence.ts';
import type { Platform } from '../open-platform.ts';
import { type Mined, mineRun } from './mine-run.ts';
import type { Method, SelfTrainPlan } from './plan.ts';

/** One repetition of a self-training: everything it draws follows from the id of the whole and its seed. */
export interface Repetition {
  readonly platform: Platform;
  readonly selfTrainId: string;
  readonly plan: SelfTrainPlan;
  readonly seed: number;
  readonly kind: EnvironmentKind;
  readonly trainAliases: readonly string[];
  readonly testAliases: readonly string[];
  readonly concurrency: number;
  readonly signal: AbortSignal;
}

/** The policy between two iterations. */
export interface Learner {
  readonly method: Method;
  readonly weights: LinearWeights;
  readonly file: WeightsFile;
  readonly runIds: readonly string[];
}

type Trained = DataOf<'EvaluationFinished'>['trained'];

const CATCH_UP_MS = 120_000;

/**
 * Searches the iteration's tasks with a learner's policy; gives the run. Its id follows from the weights, so methods that still have the same ones
 * share the run, and a resumed self-training finds it.
 */
export async function searchTasks(repetition: Repetition, learner: Learner, iteration: number): Promise<string> {
  const { platform, plan, seed, selfTrainId, trainAliases, concurrency, signal } = repetition;
  const runId = derivedId('self-train search', selfTrainId, seed, iteration, learner.file.digest);
  const drawn = createRandom(seedFrom('self-train tasks', seed, iteration))
    .shuffle(trainAliases)
    .slice(0, plan.trainTasks);
  await collectInto(platform, {
    runId,
    name: `self-train search ${iteration}, seed ${seed}`,
    experimentId: selfTrainId,
    seed: seedFrom('self-train search', seed, iteration),
    plan: {
      environment: plan.environment,
      tasks: drawn.map((alias) => ({ alias, rollouts: plan.search.iterations, branching: 'root' })),
      taskSeed: 0,
      policy: policyText(learner.file),
      temperature: 1,
      maxSteps: plan.maxSteps,
      search: plan.search,
    },
    concurrency,
    signal,
    mode: 'resume',
  });
  signal.throwIfAborted();
  await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: CATCH_UP_MS, signal });
  return runId;
}

/** Mines a run and clones what was mined into the learner's weights. Nothing good found means nothing learnt: the weights stay. */
export async function learn(
  repetition: Repetition,
  learner: Learner & { readonly method: Exclude<Method, 'base'> },
  iteration: number,
  runId: string,
): Promise<{
  readonly weights: LinearWeights;
  readonly mined: Mined;
  readonly actions: number;
  readonly losses: readonly number[];
}> {
  const { platform, plan, seed, kind, signal } = repetition;
  const thresholds = { alpha: plan.alphas[iteration - 1] ?? 1, beta: plan.beta };
  const draws = seedFrom('self-train', seed, iteration);
  const mined = await mineRun(platform, {
    ...thresholds,
    ...{ runId, method: learner.method, judge: plan.judge, kind, perTask: plan.perTask, seed: draws, signal },
  });
  const actions = weigh(mined);
  if (actions.length === 0) return { weights: learner.weights, mined, actions: 0, losses: [] };
  const epochs = iteration === 1 ? plan.epochs.first : plan.epochs.later;
  const { weights, losses } = cloneBehaviour(learner.weights, actions, { epochs, learningRate: plan.learningRate, seed: draws });
  return { weights, mined, actions: actions.length, losses };
}

/**
 * Weighs good and revision actions as Eq. 6 of the paper does, whose two expectations count alike however many rows either has: a good action counts
 * 1, a revision action so much that both sets amount to the same.
 */
function weigh({ goodActions, revisionActions }: Mined): readonly ClonedAction[] {
  const share = revisionActions.length === 0 ? 0 : goodActions.length / revisionActions.length;
  return [
    ...goodActions.map((action) => ({ ...action, weight: 1 })),
    ...revisionActions.map((action) => ({ ...action, weight: share })),
  ];
}

/** Evaluates a learner on the test tasks, with the same draws for every method and iteration of a seed. */
export async function evaluateLearner(
  repetition: Repetition,
  learner: Learner,
  iteration: number,
  trained: Trained,
): Promise<EvaluationRecord> {
  const { platform, plan, seed, selfTrainId, testAliases, concurrency, signal } = repetition;
  const { result } = await evaluateInto(platform, {
    runId: derivedId('self-train evaluation', selfTrainId, seed, learner.method, iteration),
    name: `self-train ${learner.method} ${iteration}, seed ${seed}`,
    experimentId: selfTrainId,
    seed: seedFrom('self-train evaluation', seed),
    plan: {
      environment: plan.environment,
      tasks: testAliases.map((alias) => ({ alias, rollouts: plan.testRollouts, branching: 'root' })),
      taskSeed: 0,
      policy: policyText(learner.file),
      temperature: 1,
      maxSteps: plan.maxSteps,
      search: null,
      evaluation: { split: 'test', recoverFrom: null, resamples: 1_000, trained },
    },
    concurrency,
    signal,
    mode: 'resume',
  });
  signal.throwIfAborted();
  if (!result) throw new Error('an evaluation that was not stopped has a result');
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
  const known = await db.selectFrom('metrics').select('metric').where('run_id', '=', runId).execute();
  const drafts = Object.entries(values).flatMap(([metric, value]): Draft[] => {
    if (value === null || known.some((row) => row.metric === metric)) return [];
    const id = derivedId('MetricRecorded', runId, metric);
    return [{ type: 'MetricRecorded', id, correlationId: runId, data: { runId, metric, value, at: iteration } }];
  });
  if (drafts.length === 0) return;
  const producer = { name: 'self-trainer', version: CODE_VERSION };
  const sequenceOf = (stream: string) => nextSequence(db, producer.name, stream);
  await createAppender({ log: platform.log, blobs: platform.blobs, producer, clock: Date.now, sequenceOf }).append(drafts);
}

/** Weights are named by what they are: equal weights are one policy, whoever trained them. */
function policyText({ path, digest }: WeightsFile): string {
  return JSON.stringify({ kind: 'linear', weightsFile: path, policyId: `linear-${digest.slice(0, 12)}` });
}
