import type { Command } from 'commander';
import type { Platform } from '../platform/open-platform.ts';
import { readExperimentCounts, readStages } from '../projections/experiment-stages/read-stages.ts';
import { changedExperiment, parseAxis, parseChange, sweptExperiment } from '../usecases/experiment/change-experiment.ts';
import { readExperimentFile } from '../usecases/experiment/declaration/parse-experiment.ts';
import { type DeclaredExperiment, declaredAs, readExperiment } from '../usecases/experiment/record-experiment.ts';
import { reportOf } from '../usecases/experiment/report.ts';
import { type ExperimentResult, runExperiment, type StageState } from '../usecases/experiment/run-experiment.ts';
import { checkedId } from './collect.ts';
import { describeStages, reportTable } from './experiment-text.ts';
import { exitStopped } from './stoppable.ts';
import { print, printError, progressLine, table } from './terminal.ts';
import { throughOutages } from './through-outages.ts';
import { wantsJson, wholeNumber, withPlatform } from './with-platform.ts';
import { withProjector } from './with-projector.ts';

interface RunFlags {
  readonly resume?: string;
  readonly parallel: number;
}

/** `espalier experiment`: runs what a file declares, runs it again with other options, and shows what is recorded. */
export function addExperiment(program: Command): void {
  const experiment = program.command('experiment');
  addRun(experiment);
  addRerun(experiment);
  addShow(experiment);
}

/** `espalier sweep`: an experiment whose arms are combinations of values. */
export function addSweep(program: Command): void {
  const sweep = program
    .command('sweep')
    .argument('<file>', 'the declaration of the experiment')
    .requiredOption('--over <axis...>', 'STAGE.OPTION=VALUE,VALUE: each value is an arm, with those of other axes; seed=1..3')
    .option('--parallel <n>', PARALLEL, parallel, 1);
  sweep.action(async (file: string, flags: RunFlags & { over: readonly string[] }) => {
    const swept = sweptExperiment(await readExperimentFile(file), flags.over.map(parseAxis));
    await withProjector('experiment', ({ platform, signal }) => runAndReport(sweep, platform, declaredAs(swept), flags, signal));
  });
}

const PARALLEL = 'arms at the same time, each with as many trees at a time as the experiment says';
const parallel = wholeNumber('--parallel', 1, 64);

function addRun(experiment: Command): void {
  const run = experiment
    .command('run')
    .description('run the experiment of a file: stages, arms, repetitions; run again, it runs what is missing')
    .argument('[file]', 'YAML or JSON')
    .option('--resume <id>', 'continue this experiment, as it was declared')
    .option('--parallel <n>', PARALLEL, parallel, 1);
  run.action(async (file: string | undefined, flags: RunFlags) => {
    if ((file === undefined) === (flags.resume === undefined))
      throw new Error('name the file of the experiment, or --resume ID for one that is on record');
    const given = file === undefined ? null : declaredAs(await readExperimentFile(file));
    await withProjector('experiment', async ({ platform, signal }) => {
      const declared = given ?? (await readExperiment(platform, checkedId('--resume', flags.resume ?? '')));
      await runAndReport(run, platform, declared, flags, signal);
    });
  });
}

function addRerun(experiment: Command): void {
  const rerun = experiment
    .command('rerun')
    .description('run an experiment again with changed options, reusing the stages that do not depend on them')
    .argument('<id>', 'the experiment')
    .option('--set <change...>', 'STAGE.OPTION=VALUE, as revise.alpha=0.7; or seeds=5')
    .option('--parallel <n>', PARALLEL, parallel, 1);
  rerun.action(async (id: string, flags: RunFlags & { set?: readonly string[] }) => {
    const changes = (flags.set ?? []).map(parseChange);
    await withProjector('experiment', async ({ platform, signal }) => {
      const before = await readExperiment(platform, checkedId('the experiment', id));
      const declared = declaredAs(changedExperiment(before.experiment, changes), before.experimentId);
      await runAndReport(rerun, platform, declared, flags, signal);
    });
  });
}

function addShow(experiment: Command): void {
  const list = experiment.command('list').description('list experiments with stages');
  list.action(() =>
    withPlatform('experiment', async (platform) => {
      const records = await readExperimentCounts(platform.database.db, 'all');
      if (wantsJson(list)) return print(JSON.stringify(records));
      if (records.length === 0) return print('no experiment was run yet');
      const rows = records.map(({ id, name, declaredAt, completed, failed }) => [
        id,
        name,
        declaredAt.toISOString().slice(0, 16),
        completed,
        failed,
      ]);
      print(table(['experiment', 'name', 'declared', 'stages completed', 'failed'], rows));
    }),
  );
  const status = experiment
    .command('status')
    .description('show the progress of an experiment by stage')
    .argument('<id>', 'the experiment');
  status.action((id: string) =>
    withRecorded(id, async (platform, declared) => {
      const stages = await readStages(platform.database.db, [declared.experimentId]);
      print(wantsJson(status) ? JSON.stringify(stages) : describeStages(declared, stages));
    }),
  );
  const show = experiment
    .command('show')
    .description('show the results of the arms of an experiment, beside those of the experiment that it repeats')
    .argument('<id>', 'the experiment');
  show.action((id: string) => withRecorded(id, (platform, declared) => report(show, platform, declared)));
}

async function withRecorded(id: string, use: (platform: Platform, declared: DeclaredExperiment) => Promise<void>): Promise<void> {
  await withProjector('experiment', async ({ platform }) =>
    use(platform, await readExperiment(platform, checkedId('the experiment', id))),
  );
}

async function runAndReport(
  command: Command,
  platform: Platform,
  declared: DeclaredExperiment,
  flags: RunFlags,
  signal: AbortSignal,
): Promise<void> {
  const { experimentId } = declared;
  printError(
    `experiment ${experimentId}; ended in between, the same command goes on, or: espalier experiment run --resume ${experimentId}`,
  );
  const line = progressLine();
  const place = ({ arm, seed, stage }: Pick<StageState, 'arm' | 'seed' | 'stage'>) => `${arm}, seed ${seed}, ${stage}`;
  let at = '';
  const result = await throughOutages(signal, () =>
    runExperiment(platform, {
      declared,
      signal,
      parallel: flags.parallel,
      onBegin: (begun) => line.show(`${at}${place(begun)}`),
      onProgress: (begun, text) => line.show(`${at}${place(begun)}: ${text}`),
      onStage: (ended, done, planned) => {
        at = `${done}/${planned} `;
        line.end(`${at}${place(ended)}: ${stateText(ended)}`);
      },
    }),
  );
  line.end();
  await report(command, platform, declared, result);
  if (result.state === 'failed') process.exitCode = 1;
  if (result.state === 'stopped') exitStopped();
}

function stateText({ state, message, restored }: StageState): string {
  const again = restored === undefined ? '' : `; ${restored}`;
  switch (state) {
    case 'run':
      return 'done';
    case 'kept':
      return `was done before${again}`;
    case 'reused':
      return `${message === '' ? 'reused' : `reused from experiment ${message}`}${again}`;
    case 'failed':
      return `failed: ${message}`;
    case 'skipped':
      return `skipped: ${message}`;
    default:
      return state satisfies never;
  }
}

async function report(
  command: Command,
  platform: Platform,
  declared: DeclaredExperiment,
  result: ExperimentResult | null = null,
): Promise<void> {
  const arms = await reportOf(platform.database.db, declared);
  const { experimentId } = declared;
  if (wantsJson(command)) return print(JSON.stringify({ experiment: experimentId, ...(result ?? {}), arms }));
  print(reportTable(arms));
  if (result === null) return;
  const count = (state: StageState['state']) => result.stages.filter((stage) => stage.state === state).length;
  const failed = result.stages.filter(({ state }) => state === 'failed');
  print(
    `experiment ${experimentId} ${result.state}: ${count('run')} stages run, ${count('reused')} reused, ${count('kept')} done before, ${failed.length} failed, ${count('skipped')} skipped`,
  );
  for (const { arm, seed, stage, message } of failed) print(`  ${arm}, seed ${seed}, ${stage} failed: ${message}`);
  if (result.state !== 'completed') print(`continue with: espalier experiment run --resume ${experimentId}`);
}
