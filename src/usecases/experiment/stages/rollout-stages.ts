import { z } from 'zod';
import { sha256Hex } from '../../../digest/sha256.ts';
import { BOOTSTRAP_DEFAULTS } from '../../../domain/evaluation/bootstrap-interval.ts';
import { SEARCH_DEFAULTS } from '../../../domain/search/next-search-step.ts';
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
import { acting, is } from './option-fields.ts';
import { numbers, outputOf, type Refuse, type StageWork, settle, stageForm } from './stage-work.ts';
import { actingPolicy, refuseMoving } from './train-stages.ts';

const plan = collectPlan.shape;
const task = plan.tasks.element.shape;
const search = plan.search.unwrap().shape;
const evaluation = plan.evaluation.unwrap().shape;
const maxSteps = plan.maxSteps.default(30).describe('Steps after which a rollout is truncated.');

const collectFields = z.strictObject({
  stage: is('collect'),
  ...acting,
  rollouts: task.rollouts.default(8).describe('Rollouts per task.'),
  branching: task.branching.default('root').describe('Where rollouts start: all at the root, or anywhere in the tree.'),
  maxSteps,
});

const searchFields = z.strictObject({
  stage: is('search'),
  ...acting,
  iterations: search.iterations.default(SEARCH_DEFAULTS.iterations).describe('Walks from the root.'),
  candidates: search.candidates.default(SEARCH_DEFAULTS.candidates).describe('Replies asked for at each node.'),
  maxDepth: search.maxDepth.default(SEARCH_DEFAULTS.maxDepth).describe('A path has at most this many actions and one more.'),
  exploration: search.exploration.default(SEARCH_DEFAULTS.exploration).describe('Constant of UCT.'),
  compat: z.literal('agent-r').optional().describe('Search by the rules of the published Agent-R.'),
  maxTokenLength: search.compat
    .unwrap()
    .shape.maxTokenLength.optional()
    .describe('`compat`: its MAX_TOKEN_LENGTH; null for none.'),
  maxSteps,
});

const evaluateFields = z.strictObject({
  stage: is('evaluate'),
  ...acting,
  rollouts: task.rollouts.default(1).describe('Episodes per task.'),
  maxSteps: plan.maxSteps.default(100).describe('Steps after which an episode is cut off.'),
  resamples: evaluation.resamples.default(BOOTSTRAP_DEFAULTS.resamples).describe('Resamples of its own intervals.'),
});

type Acting = z.output<typeof collectFields | typeof searchFields | typeof evaluateFields>;
type ActingWork = StageWork<Acting>;

const ACTS = { uses: { policy: ['train'] } } as const;

export const collectStage = stageForm({
  ...ACTS,
  fields: collectFields,
  seededBy: 'name',
  check: refuseMovingPolicy,
  run: collected,
});

export const searchStage = stageForm({
  ...ACTS,
  fields: searchFields,
  seededBy: 'name',
  check(options, refuse) {
    refuseMovingPolicy(options, refuse);
    if (options.maxTokenLength !== undefined && options.compat === undefined)
      refuse(['maxTokenLength'], 'goes with compat', 'add compat: agent-r, or leave it out');
  },
  run: collected,
});

/** Evaluations of one repetition share their seed whatever their names, so that they are compared draw by draw. */
export const evaluateStage = stageForm({
  ...ACTS,
  fields: evaluateFields,
  seededBy: 'kind',
  check: refuseMovingPolicy,
  run: evaluated,
});

function refuseMovingPolicy({ policy }: Acting, refuse: Refuse): void {
  refuseMoving('policy', policy, refuse);
}

/** Collects rollouts, or searches, as a run whose id follows from the key: a killed one is resumed. @throws RunFailed. */
async function collected(work: ActingWork): Promise<StageOutput> {
  const { platform, signal } = work;
  const collection = await collectionOf(work);
  const result = await collect(platform, collection);
  signal.throwIfAborted();
  if (result.state !== 'completed') throw new RunFailed(collection.runId, result);
  await settle(platform, signal);
  const { runId } = collection;
  const { digest } = await runDigest(platform, runId);
  const { trees, rollouts, steps, succeeded, failed } = result;
  const values = numbers({ trees, rollouts, steps, succeeded, failed, ...(await imageValues(work, runId)) });
  return outputOf({ digest, runIds: [runId], values });
}

/** Measures a policy. @throws RunFailed when nothing could be measured. */
async function evaluated(work: ActingWork): Promise<StageOutput> {
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

async function collectionOf(work: ActingWork): Promise<Collection> {
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
async function imageValues({ platform, stage }: ActingWork, runId: string) {
  if (stage.options.prompt?.mode !== 'image') return {};
  const [totals] = await readImageTotalsOfRuns(platform.database.db, [runId]);
  if (!totals || totals.steps === 0) return {};
  const { steps, visionTokens, textTokens, meanFactor } = totals;
  return { 'vision-tokens': visionTokens / steps, 'text-tokens': textTokens / steps, factor: meanFactor };
}

const USUAL_TASKS = 32; // as `espalier collect` takes where none are named; an evaluation takes all

/** Makes the plan of the run of a stage. @throws RunRefused, TasksRefused, NoTemplate, EnvironmentError. */
async function rolloutPlan(work: ActingWork): Promise<CollectPlan> {
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

function searchOf(
  { iterations, candidates, maxDepth, exploration, ...options }: z.output<typeof searchFields>,
  environment: string,
) {
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
