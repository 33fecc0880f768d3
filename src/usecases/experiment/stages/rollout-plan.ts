import { asAgentRSent } from '../../../environments/agentgym/agentgym-entry.ts';
import { rewardScaleOf } from '../../../environments/agentgym/reward-scale.ts';
import type { EnvironmentKind } from '../../../environments/environment.ts';
import { openEnvironment } from '../../../environments/open-environment.ts';
import { chooseTasks, namedTasks } from '../../collect/choose-tasks.ts';
import { RunRefused } from '../../collect/hold-run.ts';
import { type CollectPlan, collectPlan, type PlannedTask } from '../../collect/plan.ts';
import { promptPlanOf } from '../../train/declaration/prompt-plan-of.ts';
import type { OptionsOf } from '../declaration/stage-fields.ts';
import { actingPolicy } from './kept-policy.ts';
import type { StageWork } from './stage-work.ts';

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
  try {
    return collectPlan.parse({
      ...{ environment, policy, taskSeed: options.taskSeed, temperature: options.temperature, maxSteps: options.maxSteps },
      tasks: await plannedTasks(kind, options),
      search: options.stage === 'search' ? searchOf(options, kind.name) : null,
      ...(prompt ? { prompt } : {}),
      ...(options.stage === 'evaluate'
        ? { evaluation: { split: options.split ?? null, recoverFrom: null, resamples: options.resamples, trained: null } }
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

async function plannedTasks(kind: EnvironmentKind, options: Acting): Promise<PlannedTask[]> {
  const rollouts = options.stage === 'search' ? options.iterations : options.rollouts;
  const branching = options.stage === 'collect' ? options.branching : 'root';
  return (await tasksOf(kind, options)).map(({ alias }) => ({ alias, rollouts, branching }));
}

async function tasksOf(
  kind: EnvironmentKind,
  { tasks, taskSeed, stage, ...options }: Acting,
): Promise<readonly { readonly alias: string }[]> {
  const split = options.split ?? null;
  if (Array.isArray(tasks)) return namedTasks(kind, [...new Set(tasks)]);
  const all = kind.taskAliases.length;
  const usual = stage === 'evaluate' ? all : Math.min(USUAL_TASKS, all);
  const count = tasks === 'all' ? all : (tasks ?? usual);
  const chosen = await chooseTasks(kind, count, taskSeed, split);
  const where = split === null ? '' : ` of the split ${JSON.stringify(split)}`;
  if (chosen.length === 0) throw new RunRefused(`${kind.name} has no task${where}; leave split out for all tasks`);
  if (typeof tasks === 'number' && chosen.length < tasks)
    throw new RunRefused(
      `${kind.name} has ${chosen.length} tasks${where}, not ${tasks}; ask for at most ${chosen.length}, or for all`,
    );
  return chosen;
}
