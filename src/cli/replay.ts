import type { Command } from 'commander';
import { ENVIRONMENT_FORMS } from '../environments/open-environment.ts';
import { projections } from '../projections/registry.ts';
import { replayEnvironment } from '../usecases/replay/replay-environment.ts';
import { replayImages, replayProjections } from '../usecases/replay/replay-projections.ts';
import { recordReplay } from '../usecases/replay/replay-report.ts';
import { replayTraining } from '../usecases/replay/replay-training.ts';
import { checkedId } from './collect.ts';
import { describeBuildProgress } from './describe-build.ts';
import { projectionNamed } from './rebuild.ts';
import { addReplayFork } from './replay-fork.ts';
import { addReplayScores } from './replay-scores.ts';
import { describeReport, runReplay } from './run-replay.ts';
import { print, table } from './terminal.ts';
import { wantsJson, wholeNumber } from './with-platform.ts';
import { withProjector } from './with-projector.ts';

/**
 * `espalier replay MODE`: does something of a run over from the record and says whether it comes out the same; exit code 1 when
 * it does not.
 */
export function addReplay(program: Command): void {
  const replay = program.command('replay');
  addReplayProjections(replay);
  addReplayScores(replay);
  addReplayTraining(replay);
  addReplayFork(replay);
  const environment = replay
    .command('environment')
    .description('execute every recorded action again and compare observations, rewards, ends and state hashes')
    .requiredOption('--run <id>', 'the run')
    .option('--environment <name>', `in place of the one that the run names: ${ENVIRONMENT_FORMS}`);
  environment.action((flags: { run: string; environment?: string }) =>
    runReplay(environment, flags.run, { environment: flags.environment ?? null }, ({ platform, runId, signal, progress }) =>
      replayEnvironment(platform, { runId, environment: flags.environment ?? null, signal, progress }),
    ),
  );
  const images = replay
    .command('images')
    .description('draw every history image of a run again and compare the SHA-256 of its pixels')
    .requiredOption('--run <id>', 'the run');
  images.action((flags: { run: string }) =>
    runReplay(images, flags.run, {}, ({ platform, runId, signal, progress }) =>
      replayImages({ db: platform.database.db, blobs: platform.blobs }, runId, { signal, progress }),
    ),
  );
}

/**
 * `espalier replay projections`: folds the log again next to the read models and compares every table; exit code 1 when one
 * differs.
 */
export function addReplayProjections(replay: Command): void {
  const command = replay
    .command('projections')
    .description('fold the log again into tables of its own and compare them with the live ones by checksum')
    .option('--name <name...>', 'only these projections')
    .option('--run <id>', 'put what was found on record at this run')
    .option('--wait <seconds>', 'how long to wait for a moment to compare in', wholeNumber('--wait', 1, 86_400), 300);
  command.action((flags: { name?: string[]; run?: string; wait: number }) => {
    const chosen = flags.name?.map(projectionNamed) ?? projections;
    const runId = flags.run === undefined ? null : checkedId('--run', flags.run);
    return withProjector('replay', async ({ platform, signal, settle, line }) => {
      await settle();
      const began = performance.now();
      const progress = (state: Parameters<typeof describeBuildProgress>[0]) => line.show(describeBuildProgress(state));
      const { report, comparisons } = await replayProjections(platform, chosen, {
        signal,
        progress,
        limitMs: flags.wait * 1_000,
      });
      line.end();
      const seconds = (performance.now() - began) / 1_000;
      const parameters = { projections: chosen.map(({ name, version }) => `${name}@${version}`) };
      if (runId !== null) await recordReplay(platform, { runId, report, parameters, seconds });
      if (wantsJson(command)) print(JSON.stringify({ ...report, projections: comparisons }));
      else {
        const rows = comparisons.flatMap(({ projection, tables }) =>
          tables.map(({ table: name, live, anew }) => [
            ...[projection, name, live.rows, anew.rows],
            live.sum === anew.sum ? 'equal' : 'differs',
          ]),
        );
        print(table(['projection', 'table', 'rows', 'folded again', 'checksum'], rows));
        print(describeReport(report));
      }
      if (report.outcome === 'differs') process.exitCode = 1;
      await settle();
    });
  });
}

/**
 * `espalier replay training`: computes the versions of a policy again, batch by batch, and compares weights and checkpoints; exit
 * code 1 when one differs.
 */
export function addReplayTraining(replay: Command): void {
  const command = replay
    .command('training')
    .description('train a policy again from the recorded batches and compare weights, checkpoints and metrics of every version')
    .requiredOption('--policy <name>', 'the policy')
    .option('--from <version>', 'the first version to compute again; 0 is the beginning', wholeNumber('--from', 0), 0)
    .option('--to <version>', 'the last one; the newest when left out', wholeNumber('--to', 0));
  command.action(({ policy: policyId, from, to: last }: { policy: string; from: number; to?: number }) =>
    withProjector('replay', async ({ platform, signal, settle, line }) => {
      const to = last ?? null;
      await settle();
      const began = Date.now();
      const progress = (done: number, of: number) => line.show(`training again: ${done} of ${of} versions`);
      const { report, runId } = await replayTraining(platform, { policyId, from, to, signal, progress });
      line.end();
      const replayed = { runId, report, parameters: { policyId, from, to }, seconds: (Date.now() - began) / 1_000 };
      const replayId = await recordReplay(platform, replayed);
      print(wantsJson(command) ? JSON.stringify({ run: runId, replay: replayId, ...report }) : describeReport(report));
      if (report.outcome === 'differs') process.exitCode = 1;
      await settle();
    }),
  );
}
