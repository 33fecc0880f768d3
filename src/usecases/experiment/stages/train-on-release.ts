import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { z } from 'zod';
import { seedFrom } from '../../../domain/random/seed-from.ts';
import type { EnvironmentKind } from '../../../environments/environment.ts';
import { decodeWeights } from '../../../policies/linear/weights.ts';
import { parsePolicySpec } from '../../../policies/policy-spec.ts';
import type { DatasetRecord } from '../../../projections/datasets/read-datasets.ts';
import { RunRefused } from '../../collect/hold-run.ts';
import { cloneRelease } from '../../train/clone-release.ts';
import { runTrainer, type Trainer, TrainerFailed } from './run-trainer.ts';
import { keepWeights, type LearnedPolicy, takePolicy } from './take-policy.ts';

/** A training on a released file, and on nothing else. */
export interface TrainingOnRelease {
  /** The policy that it goes on from. */
  readonly policy: LearnedPolicy;
  readonly dataset: DatasetRecord;
  /** The released file. */
  readonly path: string;
  /** Replies that are trained on. */
  readonly replies: number;
  readonly kind: EnvironmentKind;
  readonly taskSeed: number;
  readonly epochs: number;
  readonly learningRate: number;
  readonly seed: number;
  /** Another program that trains; null for behaviour cloning of the linear policy. */
  readonly trainer: Trainer | null;
  /** What such a program is told of where its data comes from. */
  readonly origin: { readonly method: string; readonly iteration: number };
  /** Where weights are kept. */
  readonly weightsFolder: string;
  /** What another trainer leaves, and a note of it, is kept under this path. */
  readonly out: string;
  readonly signal: AbortSignal;
}

/**
 * What a training came to. The number of actions and the losses are those of our own trainer; another one's are in what it said.
 */
export interface TrainedOnRelease {
  readonly policy: LearnedPolicy;
  readonly actions: number;
  readonly losses: readonly number[];
}

/**
 * Trains a policy on a released dataset: by behaviour cloning of the linear policy, or by the trainer that was named. What another
 * trainer left is kept with the digest of the data, and not asked for again. @throws ReleaseUnreadable, RunRefused, TrainerFailed.
 */
export async function trainOnRelease(training: TrainingOnRelease): Promise<TrainedOnRelease> {
  return training.trainer === null ? clone(training) : trainOutside(training, training.trainer);
}

async function clone({ policy, dataset, seed, weightsFolder, ...training }: TrainingOnRelease): Promise<TrainedOnRelease> {
  if (policy.weights === null)
    throw new RunRefused('only the linear policy can be cloned here; name a trainer of its own for the others');
  const { kind, path, taskSeed, epochs, learningRate } = training;
  const { weights, actions, losses } = await cloneRelease({
    kind,
    weights: policy.weights,
    path,
    sha256: dataset.sha256,
    taskSeed,
    epochs,
    learningRate,
    seed: seedFrom('self-train', seed, 1),
  });
  return { policy: actions === 0 ? policy : await keepWeights(weightsFolder, weights), actions, losses };
}

const kept = z.strictObject({ dataset: z.string(), policy: z.unknown(), digest: z.string() });

async function trainOutside(training: TrainingOnRelease, trainer: Trainer): Promise<TrainedOnRelease> {
  const { policy, dataset, path, replies, seed, epochs, learningRate, origin, weightsFolder, out: folder, signal } = training;
  const mark = `${folder}.json`;
  const before = await readMark(mark);
  if (before?.dataset === dataset.sha256) {
    const spec = parsePolicySpec(before.policy);
    const weights =
      spec.kind === 'linear' && spec.weightsFile !== undefined ? decodeWeights(await readFile(spec.weightsFile)) : null;
    return { policy: { text: JSON.stringify(spec), digest: before.digest, weights }, actions: replies, losses: [] };
  }
  const { sha256, format } = dataset;
  const task = {
    dataset: path,
    datasetId: dataset.id,
    sha256,
    format,
    policy: policy.text,
    seed,
    epochs,
    learningRate,
    ...origin,
  };
  const { spec, out } = await runTrainer(trainer, task, folder, signal);
  const made = await takePolicy(weightsFolder, spec, out, sha256).catch((error: unknown) => {
    throw new TrainerFailed(
      `the trainer left a policy that cannot be used: ${error instanceof Error ? error.message : String(error)} (${out})`,
    );
  });
  await writeMark(mark, { dataset: sha256, policy: JSON.parse(made.text), digest: made.digest });
  return { policy: made, actions: replies, losses: [] };
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
