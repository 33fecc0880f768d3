import { join } from 'node:path';
import { createAppender } from '../../append/appender.ts';
import { allOrStop } from '../../collect/all-or-stop.ts';
import { chooseTasks } from '../../collect/choose-tasks.ts';
import { refuseThresholds } from '../../domain/revision/thresholds.ts';
import { openEnvironment } from '../../environments/open-environment.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { derivedId } from '../../events/derived-id.ts';
import { zeroWeights } from '../../policies/linear/weights.ts';
import type { EvaluationRecord } from '../../projections/evaluations/read-evaluations.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { writeWeights } from '../../training/weights-file.ts';
import { CODE_VERSION } from '../code-version.ts';
import { RunRefused } from '../collect-into.ts';
import { nextSequence } from '../next-sequence.ts';
import type { Platform } from '../open-platform.ts';
import type { Method, SelfTrainPlan } from './plan.ts';
import { evaluateLearner, type Learner, learn, type Repetition, recordMetrics, searchTasks } from './run-iteration.ts';

export interface SelfTraining {
  /** The experiment that all its runs belong to. */
  readonly selfTrainId: string;
  readonly plan: SelfTrainPlan;
  /** Trees, or test tasks, at a time, of each seed. */
  readonly concurrency: number;
  /** Seeds at a time. */
  readonly seedsAtATime: number;
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
 * Lets the linear policy improve itself (specification of Agent-R, §3.1), once for each method and seed: search tasks of the train split, mine what
 * the method trains on, clone it, evaluate on the test split, and again with the next alpha. Every run, its seeds and its ids follow from the plan and
 * the id: begun again after a kill with the same ones, it finds what is on record, goes on behind it, and ends with the same weights. A
 * projector must be running. @throws RunRefused for thresholds that accept nothing, or an environment that has no train and test split.
 */
export async function selfTrain(platform: Platform, training: SelfTraining): Promise<readonly IterationResult[]> {
  const { plan, selfTrainId, signal } = training;
  for (const alpha of plan.alphas) {
    const wrong = refuseThresholds({ alpha, beta: plan.beta });
    if (wrong !== null) throw new RunRefused(wrong);
  }
  const kind = await openEnvironment(plan.environment);
  try {
    const train = await chooseTasks(kind, kind.taskAliases.length, 0, 'train');
    const test = await chooseTasks(kind, plan.testTasks, 0, 'test');
    if (train.length === 0 || test.length === 0)
      throw new RunRefused(`${plan.environment} does not say which tasks are for training and which for the test; use textcraft`);
    await declare(platform, training);
    const results: IterationResult[] = [];
    const queue = plan.seeds.values();
    const repeat = async (either: AbortSignal) => {
      for (const seed of queue) {
        const repetition: Repetition = {
          ...{ platform, selfTrainId, plan, seed, kind, concurrency: training.concurrency, signal: either },
          trainAliases: train.map(({ alias }) => alias),
          testAliases: test.map(({ alias }) => alias),
        };
        await repeatOnce(repetition, (result) => {
          results.push(result);
          training.onResult?.(result);
        });
      }
    };
    await allOrStop(
      signal,
      Array.from({ length: Math.min(training.seedsAtATime, plan.seeds.length) }, () => repeat),
    );
    return results.sort(
      (a, b) => plan.methods.indexOf(a.method) - plan.methods.indexOf(b.method) || a.seed - b.seed || a.iteration - b.iteration,
    );
  } finally {
    await kind.close();
  }
}

async function repeatOnce(repetition: Repetition, tell: (result: IterationResult) => void): Promise<void> {
  const { plan, seed, platform } = repetition;
  const folder = join(platform.config.home, 'weights');
  const start = { weights: zeroWeights(), file: await writeWeights(folder, zeroWeights()), runIds: [] };
  const base = await evaluateLearner(repetition, { ...start, method: 'base' }, 0, null);
  for (const method of plan.methods) {
    tell({ method, seed, iteration: 0, evaluation: base });
    if (method === 'base') continue;
    let learner: Learner & { readonly method: Exclude<Method, 'base'> } = { ...start, method };
    for (let iteration = 1; iteration <= plan.alphas.length; iteration++) {
      const runId = await searchTasks(repetition, learner, iteration);
      const { weights, mined, actions, losses } = await learn(repetition, learner, iteration, runId);
      const file = await writeWeights(folder, weights);
      learner = { method, weights, file, runIds: [...learner.runIds, runId] };
      const { good, revisions } = mined.counts;
      const trained = { method, iteration, weights: file.digest, runIds: [...learner.runIds], good, revisions, actions };
      const evaluation = await evaluateLearner(repetition, learner, iteration, trained);
      await recordMetrics(repetition, evaluation.runId, iteration, {
        'mined.good': good,
        'mined.pairs': mined.counts.pairs,
        'mined.revisions': revisions,
        'mined.rejected': mined.counts.rejected,
        'mined.revision-length': mined.counts.meanRevisionLength,
        'train.actions': actions,
        'train.loss.first': losses[0] ?? null,
        'train.loss.last': losses.at(-1) ?? null,
      });
      tell({ method, seed, iteration, evaluation });
    }
  }
}

async function declare(platform: Platform, { selfTrainId, plan }: SelfTraining): Promise<void> {
  const { db } = platform.database;
  await waitUntilProjected(db, await platform.log.ends(TOPICS), { timeoutMs: 60_000 });
  const question = `How far does the linear policy get by training on what it finds itself? ${JSON.stringify(plan)}`;
  const known = await db.selectFrom('experiments').select('question').where('experiment_id', '=', selfTrainId).executeTakeFirst();
  if (known && known.question !== question)
    throw new RunRefused(`self-training ${selfTrainId} was begun with another plan; repeat the options it was begun with`);
  if (known) return;
  const appender = createAppender({
    log: platform.log,
    blobs: platform.blobs,
    producer: { name: 'self-trainer', version: CODE_VERSION },
    clock: Date.now,
    sequenceOf: (stream) => nextSequence(db, 'self-trainer', stream),
  });
  const data = { experimentId: selfTrainId, name: 'self-train', question };
  const id = derivedId('ExperimentDeclared', selfTrainId);
  await appender.append([{ type: 'ExperimentDeclared', id, correlationId: selfTrainId, data }]);
}
