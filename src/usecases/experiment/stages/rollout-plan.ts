import { asAgentRSent } from '../../../environments/agentgym/agentgym-entry.ts';
import { rewardScaleOf } from '../../../environments/agentgym/reward-scale.ts';
import type { EnvironmentKind } from '../../../environments/environment.ts';
import { openEnvironment } from '../../../environments/open-environment.ts';
import { chooseTasks, namedTasks } from '../../collect/choose-tasks.ts';
import { RunRefused } from '../../collect/hold-run.ts';
import { type CollectPlan, collectPlan, type PlannedTask } from '../../collect/plan.ts';
import { surveysFolder } from '../../collect/survey-tasks.ts';
import { planRecovery } from '../../evaluate/plan-recovery.ts';
import { promptPlanOf } from '../../train/declaration/prompt-plan-of.ts';
import type { OptionsOf } from '../declaration/stage-fields.ts';
import { actingPolicy } from './kept-policy.ts';
import { type StageWork, usedBy } from './stage-work.ts';

type Acting = OptionsOf<'collect' | 'search' | 'evaluate'>;

const USUAL_TASKS = 32; // as `espalier collect` takes where none are named; an evaluation takes all

/** Makes the plan of the run of a stage. @throws RunRefused, TasksRefused, NoTemplate, EnvironmentError. */
export async function rolloutPlan(work: StageWork<'collect' | 'search' | 'evaluate'>): Promise<CollectPlan> {
  const { options } = work.stage;
  const given = options.environment ?? ''; // the declaration was checked: it names one
  const environment = options.stage === 'search' && options.compat ? asAgentRSent(given) : given;
  const prompt = promptPlanOf(options.prompt, environment, 1);
  const policy = await actingPolicy(work, 'policy', options.policy);
  const kind = await openEnvironment(environment);
  const recovery = options.stage === 'evaluate' ? options.recoverFrom : undefined;
  const recoverFrom = recovery === undefined ? null : (usedBy(work, 'recoverFrom').runIds.at(-1) ?? null);
  const recovered = () =>
    planRecovery(
      work.platform,
      kind,
      { runId: recoverFrom ?? '', environment, seed: work.seed, taskSeed: options.taskSeed, rollouts: rolloutsOf(options) },
      { run: 'recoverFrom', taskSeed: 'taskSeed', environment: 'environment' },
    );
  try {
    return collectPlan.parse({
      environment,
      policy,
      taskSeed: options.taskSeed,
      temperature: options.temperature,
      maxSteps: options.maxSteps,
      tasks:
        recoverFrom === null ? await plannedTasks(kind, options, surveysFolder(work.platform.config.home)) : await recovered(),
      search: options.stage === 'search' ? searchOf(options, kind.name) : null,
      ...(prompt ? { prompt } : {}),
      ...(options.stage === 'evaluate'
        ? { evaluation: { split: options.split ?? null, recoverFrom, resamples: options.resamples, trained: null } }
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
