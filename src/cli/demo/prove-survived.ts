import type { Platform } from '../../platform/open-platform.ts';
import { projections } from '../../projections/registry.ts';
import { replayEnvironment } from '../../usecases/replay/replay-environment.ts';
import { replayProjections } from '../../usecases/replay/replay-projections.ts';
import { type ReplayReport, recordReplay } from '../../usecases/replay/replay-report.ts';
import { replayTraining } from '../../usecases/replay/replay-training.ts';
import { describeReport } from '../run-replay.ts';
import { indented, print, progressLine } from '../terminal.ts';
import { ensureProjector } from '../with-projector.ts';
import type { Survived } from './crash.ts';

/**
 * Does the run over from the record, prints what that gave, and puts it on record. Exit code 1 when something is not what it was.
 */
export async function proveSurvived(platform: Platform, { runId, policyId }: Survived, signal: AbortSignal): Promise<void> {
  const projector = await ensureProjector(platform);
  const line = progressLine();
  const prove = async (command: string, replay: () => Promise<ReplayReport>) => {
    const began = Date.now();
    const report = await replay();
    line.end();
    await recordReplay(platform, { runId, report, parameters: {}, seconds: (Date.now() - began) / 1_000 });
    print(`espalier replay ${command}`);
    print(indented(describeReport(report)));
    if (report.outcome === 'differs') process.exitCode = 1;
  };
  try {
    await prove(`environment --run ${runId}`, () =>
      replayEnvironment(platform, {
        runId,
        environment: null,
        signal,
        progress: (done, of) => line.show(`executing every action again: ${done} of ${of} trees`),
      }),
    );
    await prove(`training --policy ${policyId}`, async () => {
      const progress = (done: number, of: number) => line.show(`training again: ${done} of ${of} versions`);
      return (await replayTraining(platform, { policyId, from: 0, to: null, signal, progress })).report;
    });
    await prove('projections', async () => {
      const progress = () => line.show('folding the log again');
      return (await replayProjections(platform, projections, { signal, progress, limitMs: 60_000 })).report;
    });
    await projector.settle();
  } finally {
    line.end();
    await projector.close();
  }
}
