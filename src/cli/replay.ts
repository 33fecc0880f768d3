import type { Command } from 'commander';
import { ENVIRONMENT_FORMS } from '../environments/open-environment.ts';
import { TOPICS } from '../events/catalogue.ts';
import type { Platform } from '../platform/open-platform.ts';
import { recordReplay } from '../platform/record-replay.ts';
import { replayEnvironment } from '../platform/replay-environment.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { replayImages } from '../replay/replay-images.ts';
import type { ReplayReport } from '../replay/replay-report.ts';
import { checkedId } from './collect.ts';
import { describeReport } from './describe-report.ts';
import { ensureProjector } from './ensure-projector.ts';
import { addReplayFork } from './replay-fork.ts';
import { addReplayProjections } from './replay-projections.ts';
import { addReplayScores } from './replay-scores.ts';
import { addReplayTraining } from './replay-training.ts';
import { progressLine, say } from './terminal.ts';
import { wantsJson, withPlatform } from './with-platform.ts';

const CATCH_UP_MS = 60_000;

interface Replaying {
  readonly platform: Platform;
  readonly runId: string;
  readonly signal: AbortSignal;
  readonly progress: (done: number, of: number) => void;
}

/** Runs one mode on one run, prints what it found and puts that on record. */
export type RunReplay = typeof runReplay;

/** `espalier replay MODE`: does something of a run over from the record and says whether it comes out the same; exit code 1 when it does not. */
export function addReplay(program: Command): void {
  const replay = program.command('replay');
  addReplayProjections(replay);
  addReplayScores(replay, runReplay);
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

async function runReplay(
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
      say(wantsJson(command) ? JSON.stringify({ run: runId, replay: replayId, ...report }) : describeReport(report));
      if (report.outcome === 'differs') process.exitCode = 1;
      await projector.settle();
    } finally {
      line.end();
      await projector.close();
    }
  });
}
