import { type Command, Option } from 'commander';
import { isUuid } from '../domain/ids.ts';
import { SEARCH_DEFAULTS } from '../domain/search/next-search-step.ts';
import { agentRAction } from '../environments/agentgym/agentgym-entry.ts';
import { rewardScaleOf } from '../environments/agentgym/reward-scale.ts';
import type { EnvironmentKind } from '../environments/environment.ts';
import { ENVIRONMENT_FORMS, openEnvironment } from '../environments/open-environment.ts';
import { readRenderer } from '../environments/read-renderer.ts';
import { newId } from '../events/new-id.ts';
import type { Platform } from '../platform/open-platform.ts';
import { POLICY_FORMS, parsePolicyText } from '../policies/policy-spec.ts';
import { surveysFolder } from '../usecases/collect/choose-tasks.ts';
import { type Collection, collect, readCollection } from '../usecases/collect/collect.ts';
import type { CollectedRun, Progress } from '../usecases/collect/collect-run.ts';
import { type CollectPlan, collectPlan, type PlannedTask } from '../usecases/collect/plan.ts';
import { addPromptOptions, compressionNote, type PromptFlags, promptPlanOf } from './prompt-flags.ts';
import { tasksOf } from './tasks-of.ts';
import { type Lines, print, printError, progressLine } from './terminal.ts';
import { numberBetween, wantsJson, wholeNumber } from './with-platform.ts';
import { withProjector } from './with-projector.ts';
import { endAsCollected, warnUnshaped, withResumeHint } from './with-resume-hint.ts';

export interface CollectFlags extends PromptFlags {
  readonly environment: string;
  readonly policy: string;
  readonly tasks?: string;
  readonly task?: readonly string[];
  readonly rollouts: number;
  readonly branching: 'root' | 'anywhere';
  readonly maxSteps: number;
  readonly temperature: number;
  readonly taskSeed: number;
  readonly seed: number;
  readonly name: string;
  readonly run?: string;
  readonly resume?: string;
  readonly concurrency: number;
  readonly search?: 'mcts';
  readonly iterations: number;
  readonly candidates: number;
  readonly maxDepth: number;
  readonly exploration: number;
  readonly compat?: 'agent-r';
  readonly maxTokenLength?: number;
  readonly renderer?: string;
}

/**
 * `espalier collect`: rollouts of a policy in an environment, recorded step by step; `--resume` goes on with a run that was
 * killed.
 */
export function addCollect(program: Command): void {
  const command = program
    .command('collect')
    .option('--environment <name>', `${ENVIRONMENT_FORMS}`, 'textcraft')
    .option('--policy <spec>', POLICY_FORMS, 'random')
    .option('--tasks <n>', 'number of tasks, spread over the depths, or all (default: 32, or all if fewer)')
    .option('--task <alias...>', 'only these tasks, by alias')
    .option('--rollouts <n>', 'rollouts per task', wholeNumber('--rollouts', 1, 100_000), 8)
    .addOption(
      new Option('--branching <where>', 'where rollouts start: all at the root, or anywhere in the tree')
        .choices(['root', 'anywhere'])
        .default('root'),
    )
    .addOption(new Option('--search <method>', 'search every task instead of collecting rollouts').choices(['mcts']))
    .option('--iterations <n>', 'mcts: walks from the root', wholeNumber('--iterations', 1), SEARCH_DEFAULTS.iterations)
    .option(
      '--candidates <n>',
      'mcts: replies sampled at each node',
      wholeNumber('--candidates', 1, 128),
      SEARCH_DEFAULTS.candidates,
    )
    .option(
      '--max-depth <n>',
      'mcts: maximum depth of an expanded node; paths have one more action',
      wholeNumber('--max-depth', 0),
      SEARCH_DEFAULTS.maxDepth,
    )
    .option(
      '--exploration <c>',
      'mcts: the constant of UCT',
      numberBetween('--exploration', 0, 1_000),
      SEARCH_DEFAULTS.exploration,
    )
    .addOption(
      new Option('--compat <system>', 'mcts: search by the rules of the published Agent-R: its ties, prompts, replies').choices([
        'agent-r',
      ]),
    )
    .option(
      '--max-token-length <n>',
      'compat: its MAX_TOKEN_LENGTH, above which prompts are cut as published (default: no limit)',
      wholeNumber('--max-token-length', 61),
    )
    .option('--max-steps <n>', 'steps after which a rollout is truncated', wholeNumber('--max-steps', 1, 10_000), 30)
    .option('--temperature <t>', 'sampling temperature', numberBetween('--temperature', 0, 100), 1)
    .option('--seed <n>', 'seed of the run: equal seeds, equal trees', wholeNumber('--seed', 0), 1)
    .option('--task-seed <n>', 'seed of the environment at reset', wholeNumber('--task-seed', 0), 0)
    .option('--name <name>', 'name of the run', nameOfRun, 'collect')
    .option('--run <id>', 'id of the new run (a UUID; default: random)')
    .option('--resume <id>', 'continue this run, as it was planned')
    .option(
      '--renderer <file>',
      "a module that exports render, by which the studio shows steps; the environment's own when left out",
    )
    .option('--concurrency <n>', 'trees at the same time', wholeNumber('--concurrency', 1, 10_000), 8);
  addPromptOptions(command, 'iteration');
  command.action(async (flags: CollectFlags) => {
    const json = wantsJson(command);
    await withProjector('collect', async ({ platform, signal, settle }) => {
      const collection = flags.resume
        ? { runId: flags.resume, ...(await readCollection(platform, checkedId('--resume', flags.resume))) }
        : await newCollection(platform, flags);
      const { runId } = collection;
      const again = `espalier collect --resume ${runId}`;
      const collected = await withResumeHint(platform, { runId, command: again, signal }, (isAgain) =>
        collectWithProgress(platform, {
          ...collection,
          concurrency: flags.concurrency,
          signal,
          mode: isAgain || flags.resume || flags.run ? 'resume' : 'new',
        }),
      );
      const { state, message, ...progress } = collected;
      if (json) print(JSON.stringify({ run: runId, state, ...progress, message }));
      else {
        print(`run ${runId} ${state}: ${progress.rollouts} rollouts, ${progress.steps} steps, ${progress.succeeded} succeeded`);
        print([message === '' ? [] : message, comparedText(progress)]);
      }
      endAsCollected(runId, collected, json ? null : again);
      await settle();
      await warnUnshaped(platform, runId);
    });
  });
}

/** Collects with a line of progress on stderr. */
export async function collectWithProgress(platform: Platform, collection: Collection): Promise<CollectedRun> {
  const line = progressLine();
  const began = Date.now();
  const progress = await collect(platform, {
    ...collection,
    progress: (p) => line.show(progressText(p, (Date.now() - began) / 1_000)),
  });
  line.end();
  return progress;
}

/** Says how much of what an environment claims was tried; nothing where it claims nothing or is our own. */
export function comparedText({
  comparisons,
  undecided,
  plannedRollouts,
}: Pick<CollectedRun, 'comparisons' | 'undecided' | 'plannedRollouts'>): Lines {
  if (comparisons === null) return [];
  if (comparisons === 0)
    return [`no ${plannedRollouts === null ? 'answer of the search' : 'rollout'} was compared with an episode from the opening`];
  const what = plannedRollouts === null ? 'answers of the search were' : comparisons === 1 ? 'rollout was' : 'rollouts were';
  const text = `${comparisons} ${what} compared with episodes from the opening, and `;
  if (undecided === 0) return [`${text}none differed`];
  if (plannedRollouts !== null)
    return [
      `${text}${undecided} differed: the environment claims to be deterministic and is not; leave "deterministic" out of its description`,
    ];
  return [
    `${text}${undecided} differed where the same actions, taken twice, are answered otherwise too: whether copies share state cannot be told there`,
  ];
}

export function progressText(p: Progress, seconds: number): string {
  const rate = seconds > 0 ? (p.steps / seconds).toFixed(0) : '0';
  return `collecting: ${p.trees}/${p.plannedTrees} trees, ${p.rollouts}${p.plannedRollouts === null ? '' : `/${p.plannedRollouts}`} rollouts, ${p.steps} steps (${rate}/s), ${p.succeeded} succeeded${p.failed > 0 ? `, ${p.failed} failed` : ''}`;
}

async function newCollection(
  platform: Platform,
  flags: CollectFlags,
): Promise<Pick<Collection, 'runId' | 'name' | 'seed' | 'plan' | 'renderer'>> {
  refuseLoneFlags(flags);
  const environment = flags.compat ? agentRAction(flags.environment) : flags.environment;
  const prompt = promptPlanOf(flags, environment);
  const note = compressionNote(prompt, null);
  if (note !== null) printError(note);
  parsePolicyText(flags.policy); // reported now rather than after the environment was opened
  const kind = await openEnvironment(environment);
  try {
    const plan: CollectPlan = collectPlan.parse({
      environment,
      tasks: await plannedTasks(platform, flags, kind),
      taskSeed: flags.taskSeed,
      policy: flags.policy,
      temperature: flags.temperature,
      maxSteps: flags.maxSteps,
      search: searchOf(flags, kind.name),
      ...(prompt ? { prompt } : {}),
    });
    const renderer = flags.renderer === undefined ? {} : { renderer: await readRenderer(flags.renderer, '.') };
    return { runId: flags.run ? checkedId('--run', flags.run) : newId(), name: flags.name, seed: flags.seed, plan, ...renderer };
  } finally {
    await kind.close();
  }
}

async function plannedTasks({ config }: Platform, flags: CollectFlags, kind: EnvironmentKind): Promise<PlannedTask[]> {
  const chosen = await tasksOf(kind, flags, {
    usual: Math.min(32, kind.taskAliases.length),
    surveys: surveysFolder(config.home),
  });
  const rollouts = flags.search ? flags.iterations : flags.rollouts;
  return chosen.map(({ alias }) => ({ alias, rollouts, branching: flags.branching }));
}

export function nameOfRun(text: string): string {
  if (text.length < 1 || text.length > 200) throw new Error(`--name takes 1 to 200 characters, not ${text.length}`);
  return text;
}

export function checkedId(option: string, text: string): string {
  if (!isUuid(text)) throw new Error(`${option} takes an id, a UUID in lower case, not ${JSON.stringify(text)}`);
  return text;
}

function searchOf(flags: CollectFlags, environment: string): CollectPlan['search'] {
  const { search, iterations, candidates, maxDepth, exploration, compat: system, maxTokenLength = null } = flags;
  if (!search) return null;
  const sizes = { iterations, candidates, maxDepth, exploration };
  return system ? { ...sizes, compat: { system, maxTokenLength, rewardScale: rewardScaleOf(environment) } } : sizes;
}

/** @throws Error when an option was given that means nothing without another one. */
function refuseLoneFlags({ search, compat, maxTokenLength, prompt }: CollectFlags): void {
  if (compat && prompt) throw new Error('--compat agent-r words its own prompts: leave out --prompt');
  if (compat && !search) throw new Error('--compat is about how to search: add --search mcts');
  if (maxTokenLength !== undefined && !compat) throw new Error('--max-token-length goes with --compat agent-r');
}
