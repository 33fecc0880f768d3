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
import { parseDeclaration } from '../../train/declaration/parse-declaration.ts';
import { settingsOf } from '../../train/declaration/trainer-of.ts';
import { train } from '../../train/train.ts';
import { actingPolicy as actingTrained, planOfDeclaration, type TrainPlan, trainPlan } from '../../train/train-plan.ts';
import { writeWeights } from '../../train/weights-file.ts';
import { declarationPart } from '../declaration/parse-experiment.ts';
import { releasesFolder } from './data-stages.ts';
import { numbers, outputOf, type StageWork, usedBy } from './stage-work.ts';
import { type LearnedPolicy, takePolicy } from './take-policy.ts';
import { trainOnRelease } from './train-on-release.ts';

/** Trains on a released file. Nothing to learn from means nothing learned: the policy stays. */
export async function cloneStage(work: StageWork<'clone'>): Promise<StageOutput> {
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
  { platform }: StageWork<'clone'>,
  { text, digest }: LearnedPolicy,
  values: Readonly<Record<string, number | undefined>>,
  trained: NonNullable<StageOutput['trained']> | null,
): Promise<StageOutput> {
  return outputOf({ digest, policy: text, kept: await keepPolicy(platform, text), values: numbers(values), trained });
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

/** Where the weights of linear policies lie, under their digests. */
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
