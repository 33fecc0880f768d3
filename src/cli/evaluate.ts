import type { Command } from 'commander';
import { BOOTSTRAP_DEFAULTS } from '../domain/evaluation/bootstrap-interval.ts';
import type { EnvironmentKind } from '../environments/environment.ts';
import { ENVIRONMENT_FORMS, openEnvironment } from '../environments/open-environment.ts';
import { newId } from '../events/new-id.ts';
import type { Platform } from '../platform/open-platform.ts';
import { POLICY_FORMS, parsePolicyText } from '../policies/policy-spec.ts';
import type { EvaluationRecord } from '../projections/evaluations/read-evaluations.ts';
import { surveysFolder } from '../usecases/collect/choose-tasks.ts';
import { type Collection, readCollection } from '../usecases/collect/collect.ts';
import type { CollectedRun } from '../usecases/collect/collect-run.ts';
import { collectPlan, type PlannedTask } from '../usecases/collect/plan.ts';
import { evaluate, planRecovery } from '../usecases/evaluate/evaluate.ts';
import { checkedId, comparedText, progressText } from './collect.ts';
import { addPromptOptions, type PromptFlags, promptPlanOf } from './prompt-flags.ts';
import { tasksOf } from './tasks-of.ts';
import { type Lines, print, table } from './terminal.ts';
import { numberBetween, wantsJson, wholeNumber } from './with-platform.ts';
import { withProjector } from './with-projector.ts';
import { endAsCollected, warnUnshaped, withResumeHint } from './with-resume-hint.ts';

interface EvaluateFlags extends PromptFlags {
  readonly environment: string;
  readonly policy: string;
  readonly tasks?: string;
  readonly task?: readonly string[];
  readonly split?: string;
  readonly recoverFrom?: string;
  readonly rollouts: number;
  readonly maxSteps?: number;
  readonly temperature: number;
  readonly seed: number;
  readonly taskSeed: number;
  readonly resamples: number;
  readonly name: string;
  readonly run?: string;
  readonly resume?: string;
  readonly concurrency: number;
}

/**
 * `espalier evaluate`: measures a policy on a set of tasks; the rollouts are a run like any other, and the result is an event of
 * it.
 */
export function addEvaluate(program: Command): void {
  const command = program
    .command('evaluate')
    .option('--environment <name>', ENVIRONMENT_FORMS, 'textcraft')
    .option('--policy <spec>', POLICY_FORMS, 'random')
    .option('--tasks <n>', 'number of tasks, spread over the depths, or all')
    .option('--task <alias...>', 'only these tasks, by alias')
    .option('--split <name>', 'only tasks of this split, such as test')
    .option('--recover-from <run>', 'continue failed rollouts of this run, each from a seeded step, instead of --tasks')
    .option('--rollouts <n>', 'episodes per task', wholeNumber('--rollouts', 1, 100_000), 1)
    .option(
      '--max-steps <n>',
      'steps after which an episode is truncated: 100, or 50 with --recover-from',
      wholeNumber('--max-steps', 1, 10_000),
    )
    .option('--temperature <t>', 'sampling temperature', numberBetween('--temperature', 0, 100), 1)
    .option('--seed <n>', 'seed of the episodes and of the bootstrap', wholeNumber('--seed', 0), 1)
    .option('--task-seed <n>', 'seed of the environment at reset', wholeNumber('--task-seed', 0), 0)
    .option(
      '--resamples <n>',
      'resamples of the bootstrap',
      wholeNumber('--resamples', 1, 1_000_000),
      BOOTSTRAP_DEFAULTS.resamples,
    )
    .option('--name <name>', 'name of the run', 'evaluate')
    .option('--run <id>', 'id of the new run (a UUID; default: random)')
    .option('--resume <id>', 'continue this evaluation, as it was planned')
    .option('--concurrency <n>', 'tasks at the same time', wholeNumber('--concurrency', 1, 10_000), 8);
  addPromptOptions(command);
  command.action(async (flags: EvaluateFlags) => {
    await withProjector('evaluate', async ({ platform, signal, line }) => {
      const planned = flags.resume
        ? { runId: flags.resume, ...(await readCollection(platform, checkedId('--resume', flags.resume), 'evaluate')) }
        : await plannedEvaluation(platform, flags);
      const began = Date.now();
      const { runId } = planned;
      const again = `espalier evaluate --resume ${runId}`;
      const { result, collected } = await withResumeHint(platform, { runId, command: again, signal }, (isAgain) =>
        evaluate(platform, {
          ...planned,
          concurrency: flags.concurrency,
          signal,
          mode: isAgain || flags.resume || flags.run ? 'resume' : 'new',
          progress: (p) => line.show(progressText(p, (Date.now() - began) / 1_000)),
        }),
      );
      line.end();
      if (result) {
        const { state, failed, message, reasons } = collected;
        endAsCollected(runId, collected, null);
        if (wantsJson(command)) print(JSON.stringify({ ...result, state, failed, message, reasons }));
        else print([evaluationText(result), failed > 0 ? message : [], comparedText(collected)]);
      } else sayUnmeasured(runId, collected, wantsJson(command));
      await warnUnshaped(platform, runId);
    });
  });
}

/** Describes why there is no result, and lets the process end accordingly. */
function sayUnmeasured(run: string, { state, message, ...progress }: CollectedRun, json: boolean): void {
  if (json) print(JSON.stringify({ run, state, ...progress, message }));
  else print(`run ${run} ${state}: ${message === '' ? 'nothing was measured' : message}`);
  process.exitCode = 1;
  endAsCollected(run, { state, mostFailed: progress.mostFailed }, json ? null : `espalier evaluate --resume ${run}`);
}

async function plannedEvaluation(
  platform: Platform,
  flags: EvaluateFlags,
): Promise<Pick<Collection, 'runId' | 'name' | 'seed' | 'plan'>> {
  const prompt = promptPlanOf(flags, flags.environment);
  parsePolicyText(flags.policy); // reported now rather than after the environment was opened
  const kind = await openEnvironment(flags.environment);
  try {
    const tasks = flags.recoverFrom ? await failedTasks(platform, kind, flags) : await chosenTasks(platform, kind, flags);
    const plan = collectPlan.parse({
      environment: flags.environment,
      tasks,
      taskSeed: flags.taskSeed,
      policy: flags.policy,
      temperature: flags.temperature,
      maxSteps: flags.maxSteps ?? (flags.recoverFrom ? 50 : 100), // rounds of the paper (specification of Agent-R, §3.3)
      search: null,
      ...(prompt ? { prompt } : {}),
      evaluation: {
        split: flags.split ?? null,
        recoverFrom: flags.recoverFrom ?? null,
        resamples: flags.resamples,
        trained: null,
      },
    });
    return { runId: flags.run ? checkedId('--run', flags.run) : newId(), name: flags.name, seed: flags.seed, plan };
  } finally {
    await kind.close();
  }
}

async function chosenTasks({ config }: Platform, kind: EnvironmentKind, flags: EvaluateFlags): Promise<PlannedTask[]> {
  if (flags.tasks === undefined && !flags.task && flags.split === undefined)
    throw new Error(
      `say which tasks: --tasks N, --tasks all (${kind.taskAliases.length} of ${kind.name}), --task ALIAS, --split NAME or --recover-from RUN`,
    );
  const chosen = await tasksOf(kind, flags, { usual: kind.taskAliases.length, surveys: surveysFolder(config.home) });
  if (chosen.length === 0)
    throw new Error(`--split: ${kind.name} has no task of the split ${JSON.stringify(flags.split)}; leave it out for all tasks`);
  return chosen.map(({ alias }) => ({ alias, rollouts: flags.rollouts, branching: 'root' }));
}

/** Plans to go on behind the failed rollouts of a run. */
async function failedTasks(platform: Platform, kind: EnvironmentKind, flags: EvaluateFlags): Promise<PlannedTask[]> {
  if (flags.split !== undefined || flags.task || (flags.tasks ?? 'all') !== 'all')
    throw new Error('--recover-from takes the tasks of that run; leave out --task, --tasks and --split');
  const { environment, seed, taskSeed, rollouts } = flags;
  const runId = checkedId('--recover-from', flags.recoverFrom ?? '');
  const asked = { runId, environment, seed, taskSeed, rollouts };
  return planRecovery(platform, kind, asked);
}

/** Writes a result as a table, with what follows from it below. */
export function evaluationText(result: EvaluationRecord): Lines {
  const confidence = percent(result.bootstrap.confidence);
  const { successRate, successInterval, meanReturn, returnInterval } = result;
  const rewarded = result.rewarded ?? result.episodes; // null of one that was recorded before it was counted
  const rows = [
    ['success', percent(successRate), `${percent(successInterval.low)} – ${percent(successInterval.high)}`],
    [
      rewarded === result.episodes ? 'return' : `return of ${rewarded} rewarded`,
      meanReturn?.toFixed(3) ?? '–',
      returnInterval === null ? '' : `${returnInterval.low.toFixed(3)} – ${returnInterval.high.toFixed(3)}`,
    ],
    ['steps', result.meanSteps.toFixed(1), ''],
    ...result.repeatedActions.map(({ length, perEpisode }) => [`repeats of ${length}`, perEpisode.toFixed(2), '']),
    ...result.byDepth.map(({ taskDepth, episodes, successes }) => [
      taskDepth === null ? 'no depth' : `depth ${taskDepth}`,
      percent(successes / episodes),
      `${successes} of ${episodes}`,
    ]),
  ];
  return [
    `run ${result.runId}: ${result.policy.policyId} version ${result.policy.version} on ${result.tasks} tasks of ${result.environment}${result.split === null ? '' : ` (${result.split})`}, ${result.episodes} episodes`,
    table(['measure', 'mean', `${confidence} interval`], rows),
    ...result.treeFaults.map(
      ({ fault, trees }) =>
        `not measured: ${trees} trees failed, ${fault ?? 'the environment did not repeat what was recorded in them'}`,
    ),
  ];
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)}%`;
}
