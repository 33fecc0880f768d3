import type { Command } from 'commander';
import { TOPICS } from '../events/catalogue.ts';
import type { Platform } from '../platform/open-platform.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { recordReplay } from '../usecases/replay/record-replay.ts';
import type { ReplayReport } from '../usecases/replay/replay-report.ts';
import { checkedId } from './collect.ts';
import { describeReport } from './describe-report.ts';
import { ensureProjector } from './ensure-projector.ts';
import { print, progressLine } from './terminal.ts';
import { wantsJson, withPlatform } from './with-platform.ts';

const CATCH_UP_MS = 60_000;

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
  await withPlatform('replay', async (platform, signal) => {
    const projector = await ensureProjector(platform);
    const line = progressLine();
    try {
      await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: CATCH_UP_MS, signal });
      const began = Date.now();
      const progress = (done: number, of: number) => line.show(`replaying: ${done} of ${of}`);
      const report = await replaying({ platform, runId, signal, progress });
      line.end();
      const replayId = await recordReplay(platform, { runId, report, parameters, seconds: (Date.now() - began) / 1_000 });
      print(wantsJson(command) ? JSON.stringify({ run: runId, replay: replayId, ...report }) : describeReport(report));
      if (report.outcome === 'differs') process.exitCode = 1;
      await projector.settle();
    } finally {
      line.end();
      await projector.close();
    }
  });
}
