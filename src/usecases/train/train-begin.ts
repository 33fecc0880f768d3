import { createRandom } from '../../domain/random/random.ts';
import { seedFrom } from '../../domain/random/seed-from.ts';
import { SCORERS } from '../../domain/reward/scorers.ts';
import { configureEstimator } from '../../domain/training/advantages/estimators.ts';
import type { EnvironmentKind } from '../../environments/environment.ts';
import { canonicalJson } from '../../events/canonical-json.ts';
import { derivedId } from '../../events/derived-id.ts';
import { openAppender } from '../../platform/open-appender.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { Policy } from '../../policies/policy.ts';
import { createPolicy, parsePolicyText } from '../../policies/policy-spec.ts';
import { readLineages } from '../../projections/training-pool/read-lineages.ts';
import { linearBackend } from '../../training/backends/linear/linear-backend.ts';
import type { RegisterRequest } from '../../training/leases/protocol.ts';
import { TrainingRefused } from '../../training/read-plan-request.ts';
import { modelServerOf } from '../../training/servers/open-model-server.ts';
import { readHead } from '../../training/versions/read-batch-update.ts';
import { chooseTasks, surveysFolder, type TaskChoice } from '../collect/choose-tasks.ts';
import type { Collection } from '../collect/collect.ts';
import type { CollectPlan } from '../collect/plan.ts';
import { refuseUnfit } from '../collect/refuse-unfit.ts';
import { declareTraining } from './batcher/declare-training.ts';
import type { Declaration } from './declaration/declaration-fields.ts';
import { settingsOf, torchPlanOf } from './declaration/trainer-of.ts';
import { declarePolicy } from './declare-policy.ts';
import { makeFirstVersion, openBackend, registerFirst } from './open-backend.ts';
import { actingPolicy, backendOf, promptOf, rulesOf, type TrainPlan } from './train-plan.ts';

/** The run that collects for a training: what a collecting worker receives. */
export type PlannedRun = Pick<Collection, 'runId' | 'name' | 'seed' | 'plan'>;

/**
 * Declares a training, makes the policy's first version, and plans the run that collects for it; from then on collectors,
 * batchers and trainers work from the record, in any processes. Said again with the same plan it changes nothing. A projector
 * must be running. @throws TrainingRefused for another plan under the same name; PolicyUnfit where the policy cannot act in the
 * environment.
 */
export async function beginTraining(
  platform: Platform,
  plan: TrainPlan,
  kind: EnvironmentKind,
  signal: AbortSignal = new AbortController().signal,
): Promise<PlannedRun> {
  refuseUnknownRewards(kind, plan);
  refuseUnserved(plan);
  const surveys = surveysFolder(platform.config.home);
  const tasks = await chooseTasks(kind, plan.tasks ?? kind.taskAliases.length, plan.taskSeed, plan.split, surveys);
  const collected = planCollection(tasks, plan);
  await refuseUnfit(kind, await actorOf(platform, plan), collected);
  refuseTrainedTests(tasks, await chooseTestTasks(kind, plan, surveys), plan);
  if (plan.declaration) await declareTrainer(platform, { ...plan, declaration: plan.declaration }, signal);
  else await declareLinear(platform, plan);
  // asked for more updates, the policy goes on in a run of its own
  const runId = derivedId('train run', plan.policyId, plan.updates);
  return { runId, name: `train ${plan.policyId}`, seed: seedFrom('train', plan.seed), plan: collected };
}

/** What the policy chooses its acts from, as far as that is known before it has a version. */
async function actorOf({ config }: Platform, plan: TrainPlan): Promise<Pick<Policy, 'ref' | 'choosesFrom'>> {
  const ref = { policyId: plan.policyId, version: 0 };
  const backend = backendOf(plan);
  if (backend === 'linear') return { ref, choosesFrom: 'candidates' };
  if (backend === 'torch') {
    modelServerOf(plan.server ?? 'own', { config }); // refused now rather than after the model was opened
    return { ref };
  }
  if (plan.by === undefined)
    throw new TrainingRefused(`the backend ${backend} keeps its weights elsewhere; name the policy that acts by them`);
  const policy = await createPolicy(parsePolicyText(plan.by), { apiKey: config.openai.apiKey ?? undefined });
  await policy.close();
  return { ref, ...(policy.choosesFrom === undefined ? {} : { choosesFrom: policy.choosesFrom }) };
}

/** A component that nothing ever assigns would weigh nothing, and nobody would see it. */
function refuseUnknownRewards({ components = [] }: EnvironmentKind, { environment, rewards = {} }: TrainPlan): void {
  const known = new Set(['environment', ...components, 'invalid-action', 'compression', ...SCORERS.map(({ name }) => name)]);
  const unknown = Object.keys(rewards).find((component) => !known.has(component));
  if (unknown !== undefined)
    throw new TrainingRefused(
      `rewards: there is no component ${unknown} in ${environment}; there are ${[...known].join(', ')}, the last ones by \`espalier score\``,
    );
  if (Object.keys(rewards).length > 0 && !rewards.environment)
    throw new TrainingRefused(
      'rewards: the component environment has no weight; groups wait for it and are filtered by it, so give it one',
    );
}

/** What would be declared, and then wait for ever or count nothing. */
function refuseUnserved(plan: TrainPlan): void {
  const { rewards = { environment: 1 }, settings } = plan;
  const { objective, processRewards } = settings;
  const unweighed = processRewards?.components.find((component) => !rewards[component]);
  if (unweighed !== undefined)
    throw new TrainingRefused(
      `processRewards: the component ${unweighed} has no weight among the rewards that are trained on; add it, as environment=1,${unweighed}=1`,
    );
  const { name, options } = objective.estimator;
  const configured = configureEstimator(name, options);
  if (configured.kind === 'refused') throw new TrainingRefused(configured.reason);
  if (comparesWithGreedy(plan.settings) && plan.mode !== 'strict')
    throw new TrainingRefused(
      `the estimator ${name} compares with greedy rollouts by the same version; train strictly on-policy, with --staleness 0`,
    );
}

/** Whether groups are compared with greedy rollouts of their tasks, which somebody collects. */
export function comparesWithGreedy({ objective }: TrainPlan['settings']): boolean {
  const configured = configureEstimator(objective.estimator.name, objective.estimator.options);
  return configured.kind === 'configured' && configured.estimator.readiness.waitsFor === 'greedy-sibling';
}

/** Describes how the policy is trained, and makes its first version; both are recognised when they were said before. */
async function declareLinear(platform: Platform, plan: TrainPlan): Promise<void> {
  const { database, blobs } = platform;
  const { objective, critic } = plan.settings;
  const trainer = {
    backend: 'linear',
    settings: { ...plan.settings, critic: { kind: 'linear', ...critic, bootstrap: 'state' } },
  };
  const rules = rulesOf(plan);
  const [known] = await readLineages(database.db, [plan.policyId]);
  if (known) {
    if (canonicalJson([rules, trainer, plan.seed]) !== canonicalJson([known.rules, known.trainer, known.seed]))
      throw new TrainingRefused(
        `the policy ${plan.policyId} is trained by another plan; repeat its options, or name another policy`,
      );
  } else {
    await declareTraining(openAppender(platform, 'trainer'), {
      policyId: plan.policyId,
      estimator: objective.estimator,
      rules,
      seed: plan.seed,
      trainer,
    });
  }
  await registerFirst(platform, await makeFirstVersion(blobs, linearBackend(), plan.policyId));
}

/** A success on tasks that were trained on says nothing of others: whoever wants it says so. */
function refuseTrainedTests(tasks: readonly TaskChoice[], tested: readonly string[], { evaluation }: TrainPlan): void {
  if (evaluation?.trainedTasks === 'allowed') return;
  const trained = new Set(tasks.map(({ alias }) => alias));
  const shared = tested.filter((alias) => trained.has(alias)).length;
  if (shared > 0)
    throw new TrainingRefused(
      `${shared} of the ${tested.length} tasks that versions are measured on are tasks to train on too; choose other splits with --split and --test-split, measure nothing with --test-tasks 0, or allow it with --test-on-trained`,
    );
}

// groups that are planned for each one that a batch takes: rejected ones are replaced, and tasks cost nothing until they begin
const SPARE = 12;

/** Plans the groups: the tasks of the split in a seeded order, again and again, more than will be wanted. */
function planCollection(tasks: readonly TaskChoice[], plan: TrainPlan): CollectPlan {
  if (tasks.length === 0)
    throw new TrainingRefused(
      `${plan.environment} has no task of the split ${plan.split}, neither in its list of tasks nor where a task begins; --split all takes every task, and --test-tasks 0 measures none`,
    );
  const random = createRandom(seedFrom('train tasks', plan.seed));
  const wanted = plan.updates * plan.groupsPerBatch * SPARE;
  const rounds = Array.from({ length: Math.ceil(wanted / tasks.length) }, (_, round) => random.fork(round).shuffle(tasks));
  const { policyId, mode, maxStaleness, updates } = plan;
  const prompt = promptOf(plan);
  return {
    environment: plan.environment,
    tasks: rounds
      .flat()
      .slice(0, wanted)
      .map(({ alias }) => ({ alias, rollouts: plan.groupSize, branching: 'root' })),
    taskSeed: plan.taskSeed,
    policy: actingPolicy(plan),
    temperature: plan.temperature,
    maxSteps: plan.maxSteps,
    search: null,
    ...(prompt ? { prompt } : {}),
    training: { policyId, channel: 'train', mode, maxStaleness: mode === 'strict' ? 0 : maxStaleness, untilVersion: updates },
  };
}

/** Chooses the tasks that the versions of a training are measured on; none where its plan measures nothing. */
export async function chooseTestTasks(
  kind: EnvironmentKind,
  { evaluation, taskSeed }: Pick<TrainPlan, 'evaluation' | 'taskSeed'>,
  surveys: string,
): Promise<readonly string[]> {
  if (evaluation === null) return [];
  const tasks = await chooseTasks(kind, evaluation.tasks, taskSeed, evaluation.split, surveys);
  return tasks.map(({ alias }) => alias);
}

/**
 * Declares the training of a policy by any backend and makes its first version; both are recognised when they were made before.
 * A model that cannot be opened, or cannot read the prompts, is refused before anything is recorded. @throws TrainingRefused;
 * BackendFailed.
 */
async function declareTrainer(
  platform: Platform,
  { policyId, declaration }: { readonly policyId: string; readonly declaration: Declaration },
  signal: AbortSignal,
): Promise<void> {
  const own = declaration.backend === 'torch' ? await firstOfModel(platform, policyId, declaration, signal) : null;
  const declared = await declarePolicy(platform, policyId, declaration);
  if (declared.kind === 'refused') throw new TrainingRefused(`${declared.message}; ${declared.remedy}`);
  const first = own ?? declared.first;
  if (!first) throw new TrainingRefused(`the policy ${policyId} has no first weights; name their SHA-256 as weights`);
  await registerFirst(platform, first);
}

/** Opens the model and makes its first version; one that is on record is taken from there. */
async function firstOfModel(
  platform: Platform,
  policyId: string,
  declaration: Declaration,
  signal: AbortSignal,
): Promise<RegisterRequest> {
  const { db } = platform.database;
  const [lineage] = await readLineages(db, [policyId]);
  if ((lineage?.newestVersion ?? null) !== null) {
    const { backend, weights, kept } = await readHead(db, policyId, 0);
    return { policyId, backend, weights, kept };
  }
  const plan = { backend: 'torch', settings: settingsOf(declaration), torch: torchPlanOf(declaration) } as const;
  const backend = await openBackend(plan, platform.config, signal);
  try {
    // models with a processor read pictures
    if (declaration.prompt?.mode === 'image' && backend.describe().processor === undefined)
      throw new TrainingRefused(
        `the model ${nameOf(declaration)} reads texts alone, and the prompts hold images; ask by text (--prompt text), or name a vision-language model`,
      );
    return await makeFirstVersion(platform.blobs, backend, policyId);
  } finally {
    await backend.close();
  }
}

function nameOf({ torch }: Declaration): string {
  return torch?.model.kind === 'folder' ? torch.model.path : 'tiny';
}
