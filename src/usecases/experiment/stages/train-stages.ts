import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { sha256Hex } from '../../../digest/sha256.ts';
import type { Options } from '../../../domain/experiment/change-options.ts';
import { openEnvironment } from '../../../environments/open-environment.ts';
import { canonicalJson } from '../../../events/canonical-json.ts';
import { name } from '../../../events/schemas/values.ts';
import type { Platform } from '../../../platform/open-platform.ts';
import { decodeWeights } from '../../../policies/linear/weights.ts';
import { parsePolicyText } from '../../../policies/policy-spec.ts';
import { readDatasetsById } from '../../../projections/datasets/read-datasets.ts';
import type { StageOutput } from '../../../projections/experiment-stages/read-stages.ts';
import { createLogger } from '../../../runtime/logger.ts';
import { RunRefused } from '../../collect/hold-run.ts';
import { declarationFields } from '../../train/declaration/declaration-fields.ts';
import { parseDeclaration } from '../../train/declaration/parse-declaration.ts';
import { settingsOf } from '../../train/declaration/trainer-of.ts';
import { train } from '../../train/train.ts';
import { actingPolicy as actingTrained, planOfDeclaration, type TrainPlan, trainPlan } from '../../train/train-plan.ts';
import { writeWeights } from '../../train/weights-file.ts';
import { releasesFolder } from './data-stages.ts';
import { environment, is, policy, seed, stageName, taskSeed } from './option-fields.ts';
import { numbers, outputOf, type Refuse, refuseText, type StageWork, stageForm, usedBy } from './stage-work.ts';
import { type LearnedPolicy, takePolicy } from './take-policy.ts';
import { trainOnRelease } from './train-on-release.ts';

const training = trainPlan.shape;
const { weights: _weights, kept: _kept, seed: _seed, ...declaration } = declarationFields.shape;

const command = {
  command: z
    .string()
    .min(1)
    .max(10_000)
    .optional()
    .describe('A program that trains instead, a line for the shell; the guide to experiments says what it is given.'),
  timeout: z.int().min(1).max(1_000_000).default(86_400).describe('How long the program may take, in seconds.'),
};
const learningRate = z.number().gt(0).max(100).default(0.05).describe('Of the cloning.');

/** Training on a released file. */
const cloneFields = z.strictObject({
  stage: is('train'),
  on: stageName.describe('Stage that released the file: it is cloned. Left out, the policy is trained by its rewards.'),
  environment,
  from: policy.default('linear').describe('Policy that the training goes on from; or `{of: STAGE}`.'),
  epochs: z.int().min(1).max(1_000).default(3).describe('Over the file.'),
  learningRate,
  ...command,
  taskSeed,
  seed,
});

const byName = <Method extends z.ZodType>(method: Method) =>
  z.preprocess((value) => (typeof value === 'string' ? { name: value } : value), method);

/** Training by rewards: a declaration of training, and what its plan says besides. */
const trainFields = z.strictObject({
  stage: is('train'),
  environment,
  split: name.nullable().default('train').describe('Split of the tasks that are trained on; null for every task.'),
  tasks: training.tasks.default(null).describe('How many tasks of it, spread over the depths; null for all.'),
  updates: training.updates.default(12).describe('Batches to train: the last version.'),
  temperature: training.temperature.default(1).describe('Sampling temperature.'),
  maxSteps: training.maxSteps.default(20).describe('Steps of a rollout.'),
  by: training.by.describe('Policy that acts by the newest weights of a trainer elsewhere.'),
  server: training.server.describe('Model server that the versions of a language model act by; left out, our own.'),
  ...declaration,
  backend: name.default('linear').describe('What computes updates: `linear`, `torch`, or a trainer elsewhere.'),
  estimator: byName(declaration.estimator).describe('Estimator of the advantages, by its name or with options.'),
  loss: byName(declaration.loss).describe('Policy loss, by its name or with options.'),
  taskSeed,
  seed,
});

/** `train` with a released file to train `on`. */
export const cloneStage = stageForm({
  fields: cloneFields,
  uses: { on: ['release'], from: ['train'] },
  seededBy: 'name',
  check: ({ from }, refuse) => refuseMoving('from', from, refuse),
  run: cloned,
});

export const trainStage = stageForm({
  fields: trainFields,
  uses: {},
  seededBy: 'name',
  check(options, refuse) {
    const parsed = parseDeclaration(declarationPart(options));
    if (parsed.kind === 'refused')
      refuse(parsed.field.split('.').filter(Boolean), parsed.message.replace(`${parsed.field}: `, ''), parsed.remedy);
  },
  run: trained,
});

/** Refuses a policy that changes while the experiment runs. */
export function refuseMoving(field: string, policy: unknown, refuse: Refuse): void {
  refuseText(
    field,
    policy,
    (text) => {
      const spec = parsePolicyText(text);
      if (spec.kind === 'live' && spec.version === undefined)
        throw new Error(
          `${text} follows the newest version, which would change what repetitions measure; name one: ${text}@VERSION`,
        );
    },
    refuse,
  );
}

/** Returns the options of a stage that a declaration of training has. */
function declarationPart(options: object): Options {
  const own = Object.entries(options).filter(
    ([field, value]) => Object.hasOwn(declarationFields.shape, field) && value !== undefined,
  );
  return Object.fromEntries(own);
}

type CloneWork = StageWork<z.output<typeof cloneFields>>;
type TrainWork = StageWork<z.output<typeof trainFields>>;

/** Trains on a released file. Nothing to learn from means nothing learned: the policy stays. */
async function cloned(work: CloneWork): Promise<StageOutput> {
  const { platform, seed, signal } = work;
  const { command, timeout, epochs, learningRate, taskSeed, from, environment } = work.stage.options;
  const release = usedBy(work, 'on');
  const before = work.used.from?.trained ?? null;
  const folder = weightsFolder(platform);
  const policy = await takePolicy(folder, parsePolicyText(await actingPolicy(work, 'from', from)), '.', 'nothing');
  if (release.datasetId === null) return trainedOutput(work, policy, { actions: 0 }, before);
  const [dataset] = await readDatasetsById(platform.database.db, [release.datasetId]);
  if (!dataset) throw new RangeError(`the dataset ${release.datasetId} was released and is gone`);
  const { good = 0, revisions = 0, trained: replies = 0, length: revisionLength = null } = release.values;
  const releases = releasesFolder(platform.config.home);
  const origin = { method: methodOf(release), iteration: (before?.iteration ?? 0) + 1 };
  const kind = await openEnvironment(environment ?? '');
  try {
    const made = await trainOnRelease({
      policy,
      dataset,
      path: join(releases, `${dataset.name}.jsonl`),
      replies,
      kind,
      taskSeed,
      epochs,
      learningRate,
      seed,
      trainer: command === undefined ? null : { command, timeoutMs: timeout * 1_000 },
      origin,
      weightsFolder: folder,
      // with the key in the name, trainings on one file differ
      out: join(releases, `${dataset.name}.${work.key.slice(0, 16)}.trained`),
      signal,
    });
    signal.throwIfAborted();
    const { actions, losses } = made;
    // trained on nothing it is the policy before, whose releases it names
    const trained =
      actions === 0
        ? before
        : {
            ...origin,
            weights: made.policy.digest,
            runIds: [...new Set([...(before?.runIds ?? []), ...release.runIds])],
            datasetIds: [...(before?.datasetIds ?? []), dataset.id],
            good,
            revisions,
            revisionLength: origin.method === 'agent-r' ? revisionLength : null,
            actions,
          };
    return await trainedOutput(work, made.policy, { actions, loss: losses.at(-1), good, revisions }, trained);
  } finally {
    await kind.close();
  }
}

/** Which data a release has, as Agent-R names its methods: a judge that keeps the whole bad trajectory is `direct`. */
function methodOf({ judge }: StageOutput): string {
  if (judge === null) return 'good-only';
  return judge.startsWith('direct@') ? 'direct' : 'agent-r';
}

async function trainedOutput(
  { platform }: CloneWork,
  { text, digest }: LearnedPolicy,
  values: Readonly<Record<string, number | undefined>>,
  trained: NonNullable<StageOutput['trained']> | null,
): Promise<StageOutput> {
  return outputOf({ digest, policy: text, kept: await keepPolicy(platform, text), values: numbers(values), trained });
}

/** Trains by rewards, under a policy whose name follows from the key. @throws RunRefused that says how far it came. */
async function trained(work: TrainWork): Promise<StageOutput> {
  const { platform, signal, progress } = work;
  const plan = trainPlanOf(work);
  const result = await train(platform, {
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
  const { policyId, version, weights, runId, state, message, ledger } = result;
  if (state !== 'completed') throw new RunRefused(`the training of ${policyId} ended as ${state}: ${message}`);
  return outputOf({
    digest: sha256Hex(canonicalJson([policyId, version, weights])),
    runIds: [runId],
    policy: actingTrained(plan, version),
    values: numbers({ version, produced: ledger.produced, trained: ledger.trained }),
  });
}

function trainPlanOf({ stage, key, seed }: TrainWork): TrainPlan {
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

/** Where the weights of linear policies lie, under their digests. */
function weightsFolder({ config }: Pick<Platform, 'config'>): string {
  return join(config.home, 'weights');
}

/** Returns the policy that a stage acts by, as a plan names it: its own text, or what another stage trained. */
export async function actingPolicy(
  work: Pick<StageWork, 'platform' | 'stage' | 'used'>,
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
