import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Platform } from '../../platform/open-platform.ts';
import { readImageTotalsOfRuns } from '../../projections/images/read-image-totals.ts';
import { createLogger } from '../../runtime/logger.ts';
import { BackendFailed, findPython } from '../../training/backends/torch/python-process.ts';
import { writeTinyVision } from '../../training/backends/torch/write-tiny-vision.ts';
import { LINEAR_SETTINGS } from '../../training/backends/training-settings.ts';
import { parseDeclaration } from '../../usecases/train/declaration/parse-declaration.ts';
import { settingsOf } from '../../usecases/train/declaration/trainer-of.ts';
import { train } from '../../usecases/train/train.ts';
import { planOfDeclaration, trainPlan } from '../../usecases/train/train-plan.ts';
import type { Training } from '../../usecases/train/training.ts';
import { writeLedger } from '../ledger.ts';
import { print, progressLine } from '../terminal.ts';

/**
 * Trains the linear policy for a few updates on the search world and shows the result on questions that it was not trained
 * on.
 */
export async function trainFew(
  platform: Platform,
  seed: number,
  by: Pick<Training, 'batcher'>,
  signal: AbortSignal,
): Promise<void> {
  const line = progressLine();
  const updates = 6;
  const began = Date.now();
  const trained = await train(platform, {
    plan: trainPlan.parse({
      policyId: `demo-${seed}`,
      environment: 'search-qa',
      split: 'train',
      tasks: null,
      settings: LINEAR_SETTINGS.grpo,
      updates,
      seed,
      taskSeed: 0,
      groupsPerBatch: 8,
      groupSize: 6,
      zeroVariance: 'reject',
      mode: 'strict',
      maxStaleness: 0,
      temperature: 1,
      maxSteps: 8,
      evaluation: { split: 'test', tasks: 18, rollouts: 4, every: updates },
    }),
    concurrency: 8,
    signal,
    logger: createLogger({ level: 'error' }),
    ...(by.batcher ? { batcher: by.batcher } : {}),
    onCollect: ({ rollouts, steps }) => line.show(`training: ${rollouts} rollouts, ${steps} steps`),
  });
  line.end();
  if (signal.aborted) return;
  const [before, after] = [trained.evaluations[0], trained.evaluations.at(-1)];
  if (!before || !after) return;
  const shown = ({ evaluation: { successRate, successInterval: at } }: typeof before) =>
    `${percent(successRate)} (${percent(at.low)} – ${percent(at.high)})`;
  print();
  print(
    `Trained by GRPO, ${updates} updates in ${((Date.now() - began) / 1_000).toFixed(1)} s, strictly on-policy; success on questions that it never saw:`,
  );
  print(`  before ${shown(before)}, after ${shown(after)}`);
  print(writeLedger(trained.ledger));
}

function percent(share: number): string {
  return `${(100 * share).toFixed(0)} %`;
}

const UPDATES = 2;
const VENV = '~/espalier-python';

/**
 * Trains a tiny vision-language model of random weights on prompts with history images, where a Python with torch is there; says
 * how to get one where not. @throws Error when the training does not come to its end.
 */
export async function trainPictures(
  platform: Platform,
  seed: number,
  by: Pick<Training, 'batcher'>,
  signal: AbortSignal,
): Promise<void> {
  const found = await findPython(platform.config.python);
  if (found.kind === 'none') return sayHow(found.reason);
  const folder = join(platform.config.home, 'tiny-vision');
  const line = progressLine();
  line.show(`training on images: a tiny model is written by torch ${found.torch}`);
  const lacking = await writeOnce(found.python, folder);
  if (lacking !== null) {
    line.end();
    return sayHow(lacking);
  }
  const began = Date.now();
  const trained = await train(platform, {
    plan: planOf(folder, seed),
    concurrency: 2,
    signal,
    logger: createLogger({ level: 'error' }),
    ...(by.batcher ? { batcher: by.batcher } : {}),
    onCollect: ({ rollouts, steps }) => line.show(`training on images: ${rollouts} rollouts, ${steps} steps`),
  });
  line.end();
  if (signal.aborted) return;
  if (trained.state !== 'completed') throw new Error(`the training on images ${trained.state}: ${trained.message}`);
  const [totals] = await readImageTotalsOfRuns(platform.database.db, [trained.runId]);
  print();
  print(
    `A tiny Qwen2.5-VL of random weights acted on such prompts and was trained for ${UPDATES} updates in ${((Date.now() - began) / 1_000).toFixed(1)} s (torch ${found.torch}):`,
  );
  print(
    `  ${totals?.steps ?? 0} steps were shown a picture; ${trained.policyId} is at version ${trained.version}, weights ${trained.weights.slice(0, 16)}…`,
  );
}

/** Writes the model; what its Python lacks, or null. */
async function writeOnce(python: string, folder: string): Promise<string | null> {
  try {
    await writeTinyVision(python, folder); // the same bytes each time
    return null;
  } catch (error) {
    if (!(error instanceof BackendFailed)) throw error;
    await rm(folder, { recursive: true, force: true });
    return error.message;
  }
}

function planOf(folder: string, seed: number) {
  const parsed = parseDeclaration({
    backend: 'torch',
    torch: { model: { kind: 'folder', path: folder }, maxTokens: 8 },
    seed,
    estimator: { name: 'grpo' },
    // Random bytes answer no question: groups differ in nothing, and what moves the weights is the entropy.
    optimiser: { learningRate: 0.001, entropyCoefficient: 0.01 },
    rules: { groupsPerBatch: 2, zeroVariance: 'keep' },
    prompt: { mode: 'image' },
    groupSize: 2,
  });
  if (parsed.kind === 'refused') throw new Error(`${parsed.message}; ${parsed.remedy}`);
  const { declaration } = parsed;
  return trainPlan.parse({
    ...planOfDeclaration(declaration),
    policyId: `demo-pictures-${seed}`,
    environment: 'search-qa',
    split: 'train',
    tasks: null,
    seed,
    taskSeed: 0,
    settings: settingsOf(declaration),
    updates: UPDATES,
    temperature: 1,
    maxSteps: 3,
    evaluation: null,
  });
}

function sayHow(reason: string): void {
  print();
  print(`A vision-language model is trained on such images where a Python has torch and transformers; ${reason}. To get it:`);
  print(`  python3 -m venv ${VENV} && ${VENV}/bin/pip install -r python/requirements.txt`);
  print(`  ESPALIER_PYTHON=${VENV}/bin/python npm run demo`);
}
