import type { Command } from 'commander';
import { recordReplay } from '../usecases/replay/record-replay.ts';
import { replayTraining } from '../usecases/replay/replay-training.ts';
import { describeReport } from './describe-report.ts';
import { print } from './terminal.ts';
import { wantsJson, wholeNumber } from './with-platform.ts';
import { withProjector } from './with-projector.ts';

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
