import type { Command } from 'commander';
import { TOPICS } from '../events/catalogue.ts';
import { projections } from '../projections/registry.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { recordReplay } from '../usecases/replay/record-replay.ts';
import { replayProjections } from '../usecases/replay/replay-projections.ts';
import { projectionNamed } from './choose-projections.ts';
import { checkedId } from './collect.ts';
import { describeBuildProgress } from './describe-build.ts';
import { describeReport } from './describe-report.ts';
import { ensureProjector } from './ensure-projector.ts';
import { print, progressLine, table } from './terminal.ts';
import { wantsJson, wholeNumber, withPlatform } from './with-platform.ts';

const CATCH_UP_MS = 60_000;

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
    return withPlatform('replay', async (platform, signal) => {
      const projector = await ensureProjector(platform);
      const line = progressLine();
      try {
        await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: CATCH_UP_MS, signal });
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
        await projector.settle();
      } finally {
        line.end();
        await projector.close();
      }
    });
  });
}
