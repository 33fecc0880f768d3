import { sha256Hex } from '../../../digest/sha256.ts';
import { agentRAction } from '../../../environments/agentgym/agentgym-entry.ts';
import { rewardScaleOf } from '../../../environments/agentgym/reward-scale.ts';
import type { EnvironmentKind } from '../../../environments/environment.ts';
import { openEnvironment } from '../../../environments/open-environment.ts';
import { canonicalJson } from '../../../events/canonical-json.ts';
import { derivedId } from '../../../events/derived-id.ts';
import type { StageOutput } from '../../../projections/experiment-stages/read-stages.ts';
import { readImageTotalsOfRuns } from '../../../projections/images/read-image-totals.ts';
import { chooseTasks, namedTasks, surveysFolder } from '../../collect/choose-tasks.ts';
import { type Collection, collect, RunFailed } from '../../collect/collect.ts';
import type { Progress } from '../../collect/collect-run.ts';
import { RunRefused } from '../../collect/hold-run.ts';
import { type CollectPlan, collectPlan, type PlannedTask } from '../../collect/plan.ts';
import { runDigest } from '../../datasets/digest-trees.ts';
import { evaluate } from '../../evaluate/evaluate.ts';
import { promptPlanOf } from '../../train/declaration/prompt-fields.ts';
import type { OptionsOf } from '../declaration/stage-fields.ts';
import { numbers, outputOf, type StageWork, settle } from './stage-work.ts';
import { actingPolicy } from './train-stages.ts';

/** Collects rollouts, or searches, as a run whose id follows from the key: a killed one is resumed. @throws RunFailed. */
export async function collectStage(work: StageWork<'collect' | 'search'>): Promise<StageOutput> {
  const { platform, signal } = work;
  const collection = await collectionOf(work);
  const collected = await collect(platform, collection);
  signal.throwIfAborted();
  if (collected.state !== 'completed') throw new RunFailed(collection.runId, collected);
  await settle(platform, signal);
  const { runId } = collection;
  const { digest } = await runDigest(platform, runId);
  const { trees, rollouts, steps, succeeded, failed } = collected;
  const values = numbers({ trees, rollouts, steps, succeeded, failed, ...(await imageValues(work, runId)) });
  return outputOf({ digest, runIds: [runId], values });
}

/** Measures a policy. @throws RunFailed when nothing could be measured. */
export async function evaluateStage(work: StageWork<'evaluate'>): Promise<StageOutput> {
  const { platform, signal } = work;
  const collection = await collectionOf(work);
  const { result, collected } = await evaluate(platform, collection);
  signal.throwIfAborted();
  if (!result) throw new RunFailed(collection.runId, collected);
  await settle(platform, signal);
  const { runId, tasks, episodes, meanReturn, successRate, meanSteps, byDepth, repeatedActions } = result;
  const measured = { tasks, episodes, return: meanReturn, success: successRate, steps: meanSteps };
  const { digest } = await runDigest(platform, runId);
  return outputOf({
    digest: sha256Hex(canonicalJson([digest, measured, byDepth, repeatedActions])),
    runIds: [runId],
    values: numbers({ ...measured, ...(await imageValues(work, runId)) }),
  });
}

async function collectionOf(work: StageWork<'collect' | 'search' | 'evaluate'>): Promise<Collection> {
  const { experimentId, stage, key, seed, concurrency, signal, progress } = work;
  return {
    runId: derivedId('experiment run', key),
    name: stage.name,
    experimentId,
    seed,
    concurrency,
    signal,
    plan: await rolloutPlan(work),
    mode: 'resume',
    progress: (so) => progress(progressText(so)),
  };
}

function progressText({ trees, plannedTrees, rollouts, steps, succeeded }: Progress): string {
  return `${trees}/${plannedTrees} trees, ${rollouts} rollouts, ${steps} steps, ${succeeded} succeeded`;
}

/** What the histories cost as images, and would cost as text, per step. */
async function imageValues({ platform, stage }: StageWork<'collect' | 'search' | 'evaluate'>, runId: string) {
  if (stage.options.prompt?.mode !== 'image') return {};
  const [totals] = await readImageTotalsOfRuns(platform.database.db, [runId]);
  if (!totals || totals.steps === 0) return {};
  const { steps, visionTokens, textTokens, meanFactor } = totals;
  return { 'vision-tokens': visionTokens / steps, 'text-tokens': textTokens / steps, factor: meanFactor };
}

type Acting = OptionsOf<'collect' | 'search' | 'evaluate'>;

const USUAL_TASKS = 32; // as `espalier collect` takes where none are named; an evaluation takes all

/** Makes the plan of the run of a stage. @throws RunRefused, TasksRefused, NoTemplate, EnvironmentError. */
async function rolloutPlan(work: StageWork<'collect' | 'search' | 'evaluate'>): Promise<CollectPlan> {
  const { options } = work.stage;
  const given = options.environment ?? ''; // the declaration was checked: it names one
  const environment = options.stage === 'search' && options.compat ? agentRAction(given) : given;
  const prompt = promptPlanOf(options.prompt, environment, 1);
  const policy = await actingPolicy(work, 'policy', options.policy);
  const kind = await openEnvironment(environment);
  try {
    return collectPlan.parse({
      environment,
      policy,
      taskSeed: options.taskSeed,
      temperature: options.temperature,
      maxSteps: options.maxSteps,
      tasks: await plannedTasks(kind, options, surveysFolder(work.platform.config.home)),
      search: options.stage === 'search' ? searchOf(options, kind.name) : null,
      ...(prompt ? { prompt } : {}),
      ...(options.stage === 'evaluate'
        ? {
            evaluation: {
              split: options.split ?? null,
              recoverFrom: null,
              resamples: options.resamples,
              trained: work.used.policy?.trained ?? null,
            },
          }
        : {}),
    });
  } finally {
    await kind.close();
  }
}

function searchOf({ iterations, candidates, maxDepth, exploration, ...options }: OptionsOf<'search'>, environment: string) {
  const sizes = { iterations, candidates, maxDepth, exploration };
  if (!options.compat) return sizes;
  const compat = { system: options.compat, maxTokenLength: options.maxTokenLength ?? null };
  return { ...sizes, compat: { ...compat, rewardScale: rewardScaleOf(environment) } };
}

async function plannedTasks(kind: EnvironmentKind, options: Acting, surveys: string): Promise<PlannedTask[]> {
  const rollouts = rolloutsOf(options);
  const branching = options.stage === 'collect' ? options.branching : 'root';
  return (await tasksOf(kind, options, surveys)).map(({ alias }) => ({ alias, rollouts, branching }));
}

function rolloutsOf(options: Acting): number {
  return options.stage === 'search' ? options.iterations : options.rollouts;
}

async function tasksOf(
  kind: EnvironmentKind,
  { tasks, taskSeed, stage, ...options }: Acting,
  surveys: string,
): Promise<readonly { readonly alias: string }[]> {
  const split = options.split ?? null;
  if (Array.isArray(tasks)) return namedTasks(kind, [...new Set(tasks)]);
  const all = kind.taskAliases.length;
  const usual = stage === 'evaluate' ? all : Math.min(USUAL_TASKS, all);
  const count = tasks === 'all' ? all : (tasks ?? usual);
  const chosen = await chooseTasks(kind, count, taskSeed, split, surveys);
  const where = split === null ? '' : ` of the split ${JSON.stringify(split)}`;
  if (chosen.length === 0) throw new RunRefused(`${kind.name} has no task${where}; leave split out for all tasks`);
  if (typeof tasks === 'number' && chosen.length < tasks)
    throw new RunRefused(
      `${kind.name} has ${chosen.length} tasks${where}, not ${tasks}; ask for at most ${chosen.length}, or for all`,
    );
  return chosen;
}
