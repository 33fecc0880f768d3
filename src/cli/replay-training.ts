import type { Command } from 'commander';
import { TOPICS } from '../events/catalogue.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { recordReplay } from '../usecases/replay/record-replay.ts';
import { replayTraining } from '../usecases/replay/replay-training.ts';
import { describeReport } from './describe-report.ts';
import { ensureProjector } from './ensure-projector.ts';
import { print, progressLine } from './terminal.ts';
import { wantsJson, wholeNumber, withPlatform } from './with-platform.ts';

const CATCH_UP_MS = 60_000;

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
    withPlatform('replay', async (platform, signal) => {
      const to = last ?? null;
      const projector = await ensureProjector(platform);
      const line = progressLine();
      try {
        await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: CATCH_UP_MS, signal });
        const began = Date.now();
        const progress = (done: number, of: number) => line.show(`training again: ${done} of ${of} versions`);
        const { report, runId } = await replayTraining(platform, { policyId, from, to, signal, progress });
        line.end();
        const replayed = { runId, report, parameters: { policyId, from, to }, seconds: (Date.now() - began) / 1_000 };
        const replayId = await recordReplay(platform, replayed);
        print(wantsJson(command) ? JSON.stringify({ run: runId, replay: replayId, ...report }) : describeReport(report));
        if (report.outcome === 'differs') process.exitCode = 1;
        await projector.settle();
      } finally {
        line.end();
        await projector.close();
      }
    }),
  );
}
