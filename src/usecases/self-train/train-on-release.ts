import { randomBytes } from 'node:crypto';
import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { sha256Hex } from '../../digest/sha256.ts';
import { seedFrom } from '../../domain/random/seed-from.ts';
import { positionAfter } from '../../log/position.ts';
import { CODE_VERSION } from '../../platform/code-version.ts';
import { makeFolder } from '../../platform/make-folder.ts';
import { openAppender } from '../../platform/open-appender.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { decodeWeights } from '../../policies/linear/weights.ts';
import { parsePolicySpec } from '../../policies/policy-spec.ts';
import { type DatasetRecord, readDatasetsOfName } from '../../projections/datasets/read-datasets.ts';
import { everyTrajectory } from '../../projections/trajectories/trajectory-query.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { RunRefused } from '../collect/hold-run.ts';
import { DatasetError } from '../datasets/dataset-error.ts';
import { releaseDataset } from '../datasets/release/release-dataset.ts';
import type { RowFormat } from '../datasets/rows/row-options.ts';
import { cloneRelease } from '../train/clone-release.ts';
import { keepWeights, type LearnedPolicy, type Learner, type Repetition, takePolicy } from './learner.ts';
import { runTrainer, TrainerFailed } from './run-trainer.ts';

/**
 * What a training came to. The number of actions and the losses are those of our own trainer; another one's are in what it said.
 */
export interface TrainedOnRelease {
  readonly policy: LearnedPolicy;
  readonly actions: number;
  readonly losses: readonly number[];
}

/** What a training on a release needs of the repetition that it belongs to. */
interface TrainingRepetition extends Pick<Repetition, 'seed' | 'kind' | 'folders' | 'trainer' | 'signal'> {
  readonly plan: Pick<Repetition['plan'], 'trainer' | 'taskSeed' | 'epochs' | 'learningRate'>;
}

/**
 * Trains a learner's policy on a released dataset, and on nothing else: by behaviour cloning of the linear policy, or by the
 * trainer that was named. What another trainer left is kept with the digest of the data, and not asked for again. @throws
 * ReleaseUnreadable, RunRefused, TrainerFailed.
 */
export async function trainOnRelease(
  repetition: TrainingRepetition,
  learner: Pick<Learner, 'policy' | 'method'>,
  iteration: number,
  released: ReleasedIteration,
): Promise<TrainedOnRelease> {
  return repetition.plan.trainer === null
    ? cloneReleased(repetition, learner, iteration, released)
    : trainOutside(repetition, learner, iteration, released);
}

async function cloneReleased(
  { plan, seed, kind, folders }: TrainingRepetition,
  { policy }: Pick<Learner, 'policy'>,
  iteration: number,
  { path, dataset }: ReleasedIteration,
): Promise<TrainedOnRelease> {
  if (policy.weights === null)
    throw new RunRefused('only the linear policy can be cloned here; name a trainer of its own for the others');
  const trained = await cloneRelease({
    kind,
    weights: policy.weights,
    path,
    sha256: dataset.sha256,
    taskSeed: plan.taskSeed,
    epochs: iteration === 1 ? plan.epochs.first : plan.epochs.later,
    learningRate: plan.learningRate,
    seed: seedFrom('self-train', seed, iteration),
  });
  const { weights, actions, losses } = trained;
  if (actions === 0) return { policy, actions, losses };
  return { policy: await keepWeights(folders.weights, weights), actions, losses };
}

const kept = z.strictObject({ dataset: z.string(), policy: z.unknown(), digest: z.string() });

async function trainOutside(
  { plan, seed, folders, trainer, signal }: TrainingRepetition,
  { policy, method }: Pick<Learner, 'policy' | 'method'>,
  iteration: number,
  { path, dataset, trained }: ReleasedIteration,
): Promise<TrainedOnRelease> {
  const folder = join(folders.releases, `${dataset.name}.trained`);
  const mark = `${folder}.json`;
  const before = await readMark(mark);
  if (before?.dataset === dataset.sha256) {
    const spec = parsePolicySpec(before.policy);
    const weights =
      spec.kind === 'linear' && spec.weightsFile !== undefined ? decodeWeights(await readFile(spec.weightsFile)) : null;
    return { policy: { text: JSON.stringify(spec), digest: before.digest, weights }, actions: trained, losses: [] };
  }
  if (trainer === null) throw new RunRefused('this self-training was begun with a trainer of its own; name its command again');
  const task = {
    dataset: path,
    datasetId: dataset.id,
    sha256: dataset.sha256,
    format: dataset.format,
    policy: policy.text,
    method,
    seed,
    iteration,
    epochs: iteration === 1 ? plan.epochs.first : plan.epochs.later,
    learningRate: plan.learningRate,
  };
  const { spec, out } = await runTrainer(trainer, task, folder, signal);
  const made = await takePolicy(folders.weights, spec, out, dataset.sha256).catch((error: unknown) => {
    throw new TrainerFailed(
      `the trainer left a policy that cannot be used: ${error instanceof Error ? error.message : String(error)} (${out})`,
    );
  });
  await writeMark(mark, { dataset: dataset.sha256, policy: JSON.parse(made.text), digest: made.digest });
  return { policy: made, actions: trained, losses: [] };
}

async function readMark(path: string): Promise<z.infer<typeof kept> | null> {
  const text = await readFile(path, 'utf8').catch(() => null);
  return text === null ? null : kept.parse(JSON.parse(text));
}

/** Written whole or not at all: who is killed before it trains again. */
async function writeMark(path: string, mark: z.infer<typeof kept>): Promise<void> {
  const partial = `${path}.${randomBytes(4).toString('hex')}.partial`;
  await writeFile(partial, `${JSON.stringify(mark)}\n`, { flush: true });
  await rename(partial, path);
}

/** What an iteration of a method is trained on: which examples of which run, and what the file is called. */
interface IterationRelease {
  readonly name: string;
  readonly folder: string;
  readonly runId: string;
  readonly format: Exclude<RowFormat['kind'], 'dpo'>;
  readonly thresholds: { readonly alpha: number; readonly beta: number };
  /** name@revision of the judge whose revisions are taken; null for good trajectories alone. */
  readonly judge: string | null;
  /** The most good trajectories, and the most revisions, of one task. */
  readonly perTask: number;
  /** Left out: good trajectories, and the revisions of the judge where one is named. */
  readonly data?: 'good' | 'revisions' | 'both';
  /** Left out: revisions that held when executed. */
  readonly state?: 'verified' | 'composed';
  /** The only revisions that may be written, by `keyInTree`; left out, all of the judge. */
  readonly revisionKeys?: readonly string[];
  readonly signal: AbortSignal;
}

/** A frozen dataset and where its file lies. */
export interface ReleasedIteration {
  readonly dataset: DatasetRecord;
  readonly path: string;
  readonly good: number;
  readonly revisions: number;
  /** Replies that are trained on. */
  readonly trained: number;
}

const WAIT_MS = 120_000;
const counted = z.object({ good: z.int(), revisions: z.int(), trained: z.int() });

/**
 * Freezes what a method trains on: no duplicates, no task of the test split, at most so many of a task; revisions only as they
 * were verified. What was released before is taken as it is, whatever was mined since. Null when there is nothing to learn from.
 * @throws DatasetError.
 */
export async function releaseIteration(platform: Platform, release: IterationRelease): Promise<ReleasedIteration | null> {
  const { name, folder, signal, judge, format, thresholds, perTask } = release;
  const { blobs } = platform;
  const { db } = platform.database;
  await makeFolder(folder);
  const path = join(folder, `${name}.jsonl`);
  const known = (await readDatasetsOfName(db, name)).at(-1);
  if (known?.withdrawnAt)
    throw new DatasetError(
      'conflict',
      `${name}@${known.version} was withdrawn: ${known.withdrawReason}; begin a new self-training`,
    );
  if (known && (await stat(path).catch(() => undefined))?.size === known.bytes) return releasedAs(known, path);
  const appender = openAppender(platform, 'datasets');
  try {
    const { dataset } = await releaseDataset({
      db,
      blobs,
      name,
      out: path,
      signal,
      appender,
      general: null,
      codeVersion: CODE_VERSION,
      waitMs: WAIT_MS,
      query: { ...everyTrajectory, runs: [release.runId] },
      format: { kind: format, metadata: 'include', span: 'reply' },
      parameters: {
        data: release.data ?? (judge === null ? 'good' : 'both'),
        thresholds,
        state: release.state ?? 'verified',
        ...(judge === null ? {} : { judge }),
        ...(release.revisionKeys ? { revisionSet: sha256Hex(release.revisionKeys.join('\n')) } : {}),
        gates: { duplicates: 'remove', testTasks: 'remove', evaluations: 'remove', maxPerTask: perTask },
      },
      ...(release.revisionKeys ? { revisionKeys: new Set(release.revisionKeys) } : {}),
      existing: 'replace', // the name holds the id of the self-training: nobody else's file has it
      settled: (receipts) => waitUntilProjected(db, positionAfter(receipts), { timeoutMs: WAIT_MS, signal }),
      onProgress: () => undefined,
    });
    return releasedAs(dataset, path);
  } catch (error) {
    if (error instanceof DatasetError && error.code === 'nothing-matches') return null;
    throw error;
  }
}

function releasedAs(dataset: DatasetRecord, path: string): ReleasedIteration {
  return { dataset, path, ...counted.parse(dataset.counts) };
}
