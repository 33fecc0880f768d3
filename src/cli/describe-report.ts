import type { Difference, ReplayMode, ReplayReport } from '../usecases/replay/replay-report.ts';
import type { Lines } from './terminal.ts';

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
