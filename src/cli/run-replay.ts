import type { Command } from 'commander';
import { newId } from '../events/new-id.ts';
import type { Platform } from '../platform/open-platform.ts';
import { type Difference, type ReplayMode, type ReplayReport, recordReplay } from '../usecases/replay/replay-report.ts';
import { checkedId } from './collect.ts';
import { type Lines, print } from './terminal.ts';
import { throughOutages } from './through-outages.ts';
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
    const report = await throughOutages(signal, () => replaying({ platform, runId, signal, progress }));
    line.end();
    const replayId = await putOnRecord(platform, signal, { runId, report, parameters, seconds: (Date.now() - began) / 1_000 });
    print(wantsJson(command) ? JSON.stringify({ run: runId, replay: replayId, ...report }) : describeReport(report));
    if (report.outcome === 'differs') process.exitCode = 1;
    await settle();
  });
}

/** Puts on record what a replay of a run found, once, through outages; returns its id. */
export async function putOnRecord(
  platform: Platform,
  signal: AbortSignal,
  replay: Parameters<typeof recordReplay>[1],
): Promise<string> {
  const replayId = newId();
  return throughOutages(signal, () => recordReplay(platform, { ...replay, replayId }));
}

/** What is counted, where it goes without saying otherwise. */
const WHAT: Partial<Record<ReplayMode, string>> = { training: ' versions', fork: ' steps' };

/** Writes what a replay found: one line when all is equal, else a line for each of the first differences. */
export function describeReport({ mode, outcome, compared, differing, differences, notes }: ReplayReport): Lines {
  const what = WHAT[mode] ?? '';
  const head =
    outcome === 'equal'
      ? `equal: ${mode}, ${compared}${what} compared`
      : `differs: ${mode}, ${differing} of ${compared}${what} compared`;
  return [head, ...differences.map(describeDifference), ...notes];
}

function describeDifference({ eventId, stepId, field, recorded, replayed }: Difference): string {
  const place = [eventId && `event ${eventId}`, stepId && `step ${stepId}`, field].filter(Boolean).join(', ');
  return `differs at ${place}: recorded ${shorten(recorded)}, replayed ${shorten(replayed)}`;
}

function shorten(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 199)}…` : text);
}
