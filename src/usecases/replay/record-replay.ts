import { derivedId } from '../../events/derived-id.ts';
import { newId } from '../../events/new-id.ts';
import { CODE_VERSION } from '../../platform/code-version.ts';
import { openAppender } from '../../platform/open-appender.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { ReplayReport } from './replay-report.ts';

/** Puts on record what a replay of a run found; returns its id. The read models must have caught up with the log. */
export async function recordReplay(
  platform: Platform,
  {
    runId,
    report,
    parameters,
    seconds,
    replayId = newId(),
  }: {
    readonly runId: string;
    /** Given, the replay is on record once, however often it is said. */
    readonly replayId?: string;
    readonly report: ReplayReport;
    readonly parameters: Readonly<Record<string, unknown>>;
    readonly seconds: number;
  },
): Promise<string> {
  const { differences, notes, ...found } = report;
  const reported = { ...found, differences: [...differences], notes: [...notes], seconds: Math.round(seconds) };
  await openAppender(platform, 'replayer').append([
    {
      type: 'ReplayFinished',
      id: derivedId('ReplayFinished', replayId),
      correlationId: runId,
      data: { runId, replayId, ...reported, parameters, codeVersion: CODE_VERSION },
    },
  ]);
  return replayId;
}
