import type { Command } from 'commander';
import type { Platform } from '../platform/open-platform.ts';
import { recordReplay } from '../usecases/replay/record-replay.ts';
import type { ReplayReport } from '../usecases/replay/replay-report.ts';
import { checkedId } from './collect.ts';
import { describeReport } from './describe-report.ts';
import { print } from './terminal.ts';
import { wantsJson } from './with-platform.ts';
import { withProjector } from './with-projector.ts';

interface Replaying {
  readonly platform: Platform;
  readonly runId: string;
  readonly signal: AbortSignal;
  readonly progress: (done: number, of: number) => void;
}

/** Runs one mode of replay on one run, prints what it found and puts that on record. */
export async function runReplay(
  command: Command,
  run: string,
  parameters: Readonly<Record<string, unknown>>,
  replaying: (replaying: Replaying) => Promise<ReplayReport>,
): Promise<void> {
  const runId = checkedId('--run', run);
  await withProjector('replay', async ({ platform, signal, settle, line }) => {
    await settle();
    const began = Date.now();
    const progress = (done: number, of: number) => line.show(`replaying: ${done} of ${of}`);
    const report = await replaying({ platform, runId, signal, progress });
    line.end();
    const replayId = await recordReplay(platform, { runId, report, parameters, seconds: (Date.now() - began) / 1_000 });
    print(wantsJson(command) ? JSON.stringify({ run: runId, replay: replayId, ...report }) : describeReport(report));
    if (report.outcome === 'differs') process.exitCode = 1;
    await settle();
  });
}
