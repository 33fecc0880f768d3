import { randomBytes } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { seedFrom } from '../../domain/random/seed-from.ts';
import { decodeWeights } from '../../policies/linear/weights.ts';
import { parsePolicySpec } from '../../policies/policy-spec.ts';
import { RunRefused } from '../collect/hold-run.ts';
import { cloneRelease } from '../train/clone-release.ts';
import { keepWeights, type LearnedPolicy, type Learner, takePolicy } from './learner.ts';
import type { Released } from './release-iteration.ts';
import type { Repetition } from './repetition.ts';
import { runTrainer, TrainerFailed } from './run-trainer.ts';

/**
 * What a training came to. The number of actions and the losses are those of our own trainer; another one's are in what it said.
 */
export interface Trained {
  readonly policy: LearnedPolicy;
  readonly actions: number;
  readonly losses: readonly number[];
}

/** What a training on a release needs of the repetition that it belongs to. */
export interface TrainingRepetition extends Pick<Repetition, 'seed' | 'kind' | 'folders' | 'trainer' | 'signal'> {
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
  released: Released,
): Promise<Trained> {
  return repetition.plan.trainer === null
    ? cloneReleased(repetition, learner, iteration, released)
    : trainOutside(repetition, learner, iteration, released);
}

async function cloneReleased(
  { plan, seed, kind, folders }: TrainingRepetition,
  { policy }: Pick<Learner, 'policy'>,
  iteration: number,
  { path, dataset }: Released,
): Promise<Trained> {
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
  { path, dataset, trained }: Released,
): Promise<Trained> {
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
