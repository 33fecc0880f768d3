import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256Hex } from '../../../digest/sha256.ts';
import { openEnvironment } from '../../../environments/open-environment.ts';
import { canonicalJson } from '../../../events/canonical-json.ts';
import type { Platform } from '../../../platform/open-platform.ts';
import { decodeWeights } from '../../../policies/linear/weights.ts';
import { parsePolicyText } from '../../../policies/policy-spec.ts';
import { readDatasetsById } from '../../../projections/datasets/read-datasets.ts';
import type { StageOutput } from '../../../projections/experiment-stages/read-stages.ts';
import { createLogger } from '../../../runtime/logger.ts';
import { RunRefused } from '../../collect/hold-run.ts';
import { takePolicy } from '../../self-train/learner.ts';
import type { Trainer } from '../../self-train/run-trainer.ts';
import { trainOnRelease } from '../../self-train/train-on-release.ts';
import { parseDeclaration } from '../../train/declaration/parse-declaration.ts';
import { settingsOf } from '../../train/declaration/trainer-of.ts';
import { train } from '../../train/train.ts';
import { actingPolicy as actingTrained, planOfDeclaration, type TrainPlan, trainPlan } from '../../train/train-plan.ts';
import { writeWeights } from '../../train/weights-file.ts';
import { declarationPart } from '../declaration/parse-experiment.ts';
import type { OptionsOf } from '../declaration/stage-fields.ts';
import { releasesFolder } from './data-stages.ts';
import { numbers, outputOf, type StageWork, usedBy } from './stage-work.ts';

/** Trains on a released file. Nothing to learn from means nothing learned: the policy stays. */
export async function cloneStage(work: StageWork<'clone'>): Promise<StageOutput> {
  const { platform, seed, signal } = work;
  const { options } = work.stage;
  const release = usedBy(work, 'on');
  const folders = { weights: weightsFolder(platform), releases: releasesFolder(platform.config.home) };
  const spec = parsePolicyText(await actingPolicy(work, 'from', options.from));
  const policy = await takePolicy(folders.weights, spec, '.', 'nothing');
  if (release.datasetId === null) return trainedOutput(work, policy, { actions: 0 });
  const [dataset] = await readDatasetsById(platform.database.db, [release.datasetId]);
  if (!dataset) throw new RangeError(`the dataset ${release.datasetId} was released and is gone`);
  const { good = 0, revisions = 0, trained = 0 } = release.values;
  const path = join(folders.releases, `${dataset.name}.jsonl`);
  const kind = await openEnvironment(options.environment ?? '');
  try {
    const trainer = trainerOf(options);
    const { epochs, learningRate, taskSeed } = options;
    // an outside trainer leaves its mark next to the file: with the key in the name, trainings on one file differ
    const named = { ...dataset, name: `${dataset.name}.${work.key.slice(0, 16)}` };
    const made = await trainOnRelease(
      {
        seed,
        kind,
        folders,
        signal,
        trainer,
        plan: { epochs: { first: epochs, later: epochs }, learningRate, taskSeed, trainer: trainer && { format: 'openai' } },
      },
      { policy, method: 'agent-r' },
      1,
      { dataset: named, path, good, revisions, trained },
    );
    signal.throwIfAborted();
    return await trainedOutput(work, made.policy, { actions: made.actions, loss: made.losses.at(-1), good, revisions });
  } finally {
    await kind.close();
  }
}

async function trainedOutput(
  { platform }: StageWork<'clone'>,
  { text, digest }: Awaited<ReturnType<typeof takePolicy>>,
  values: Readonly<Record<string, number | undefined>>,
): Promise<StageOutput> {
  return outputOf({ digest, policy: text, kept: await keepPolicy(platform, text), values: numbers(values) });
}

/** Trains by rewards, under a policy whose name follows from the key. @throws RunRefused that says how far it came. */
export async function trainStage(work: StageWork<'train'>): Promise<StageOutput> {
  const { platform, signal, progress } = work;
  const plan = trainPlanOf(work);
  const trained = await train(platform, {
    plan,
    signal,
    logger: createLogger({ level: 'error' }),
    concurrency: plan.groupsPerBatch * (1 + plan.maxStaleness),
    onCollect: ({ rollouts, steps }) => progress(`${rollouts} rollouts, ${steps} steps`),
    onUpdate: ({ version, meanReturn, warning }) =>
      progress(
        `version ${version} of ${plan.updates}, mean return ${meanReturn.toFixed(3)}${warning === null ? '' : `; ${warning}`}`,
      ),
  });
  signal.throwIfAborted();
  const { policyId, version, weights, runId, state, message, ledger } = trained;
  if (state !== 'completed') throw new RunRefused(`the training of ${policyId} ended as ${state}: ${message}`);
  return outputOf({
    digest: sha256Hex(canonicalJson([policyId, version, weights])),
    runIds: [runId],
    policy: actingTrained(plan, version),
    values: numbers({ version, produced: ledger.produced, trained: ledger.trained }),
  });
}

function trainPlanOf({ stage, key, seed }: StageWork<'train'>): TrainPlan {
  const { environment, split, tasks, updates, temperature, maxSteps, by, server, taskSeed } = stage.options;
  const parsed = parseDeclaration({ ...declarationPart(stage.options), seed });
  if (parsed.kind === 'refused') throw new RunRefused(`${parsed.message}; ${parsed.remedy}`); // checked with the file
  return trainPlan.parse({
    policyId: `experiment-${key.slice(0, 16)}`,
    environment,
    split,
    tasks,
    updates,
    temperature,
    maxSteps,
    seed,
    taskSeed,
    evaluation: null,
    settings: settingsOf(parsed.declaration),
    ...planOfDeclaration(parsed.declaration),
    ...(by === undefined ? {} : { by }),
    ...(server === undefined ? {} : { server }),
  });
}

function trainerOf({ command, timeout }: Pick<OptionsOf<'clone'>, 'command' | 'timeout'>): Trainer | null {
  return command === undefined ? null : { command, timeoutMs: timeout * 1_000 };
}

/** Where the weights of linear policies lie, under their digests: self-training keeps its own there too. */
function weightsFolder({ config }: Pick<Platform, 'config'>): string {
  return join(config.home, 'weights');
}

/** Returns the policy that a stage acts by, as a plan names it: its own text, or what another stage trained. */
export async function actingPolicy(
  work: StageWork<'collect' | 'search' | 'evaluate' | 'clone'>,
  field: 'policy' | 'from',
  policy: string | { readonly of: string },
): Promise<string> {
  return typeof policy === 'string' ? policy : localPolicy(work.platform, usedBy(work, field));
}

/** Returns a trained policy as this machine can open it: weights whose file is not here are written from the blob store. */
async function localPolicy(platform: Platform, { policy, kept }: StageOutput): Promise<string> {
  if (policy === null) throw new RangeError('the stage trained no policy');
  const spec = parsePolicyText(policy);
  if (spec.kind !== 'linear' || spec.weightsFile === undefined || kept === null) return policy;
  const there = await access(spec.weightsFile).then(
    () => true,
    () => false,
  );
  if (there) return policy;
  const { path } = await writeWeights(weightsFolder(platform), decodeWeights(await platform.blobs.get(kept.blob)));
  return JSON.stringify({ ...spec, weightsFile: path });
}

/**
 * Keeps the weights of a linear policy in the blob store, so that they outlive the folder they lie in. Null for other policies.
 */
async function keepPolicy({ blobs }: Platform, policy: string): Promise<StageOutput['kept']> {
  const spec = parsePolicyText(policy);
  if (spec.kind !== 'linear' || spec.weightsFile === undefined) return null;
  return blobs.put(await readFile(spec.weightsFile), 'application/octet-stream');
}
