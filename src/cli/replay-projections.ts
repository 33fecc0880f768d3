import type { Command } from 'commander';
import { projections } from '../projections/registry.ts';
import { recordReplay } from '../usecases/replay/record-replay.ts';
import { replayProjections } from '../usecases/replay/replay-projections.ts';
import { projectionNamed } from './choose-projections.ts';
import { checkedId } from './collect.ts';
import { describeBuildProgress } from './describe-build.ts';
import { describeReport } from './describe-report.ts';
import { print, table } from './terminal.ts';
import { wantsJson, wholeNumber } from './with-platform.ts';
import { withProjector } from './with-projector.ts';

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
