import type { Offsets } from '../../src/log/event-log.ts';
import { formatPosition, reached } from '../../src/log/position.ts';
import { type ProjectionStatus, readProjectionStatuses } from '../../src/projections/projection-statuses.ts';
import { bounded } from '../connection.ts';
import type { Sources } from '../context.ts';
import { refusal } from '../errors.ts';
import type { ReachedModel } from '../models.ts';
import { argumentPosition, assertReached, logEnd, restrictToProjection } from './log-end.ts';

const LONGEST_MS = 60_000;
const POLL_MS = 500; // the net below lost notices; a notice wakes at once

/**
 * Waits until every projection has folded the log up to a position, so that who appended reads what was written. Woken by notices
 * of moved cursors. @throws TIMED_OUT saying which projection is how far behind; PROJECTION_STOPPED; BAD_USER_INPUT past the end
 * of the log, or for a topic or partition that it does not have.
 */
export async function waitFor(sources: Sources, text: string, timeoutMs: number, signal: AbortSignal): Promise<ReachedModel> {
  const position = argumentPosition('position', text);
  const started = performance.now();
  const limit = bounded('timeoutMs', timeoutMs, LONGEST_MS);
  for (let first = true; ; first = false) {
    const { count } = sources.notices; // before the look, so that a move after it wakes us
    const statuses = await readProjectionStatuses(sources.tails);
    // A position beyond the log would be waited for without success, and one of a topic that nobody reads would be reached at
    // once.
    if (first && !isRead(statuses, position)) assertReached('position', position, await logEnd(sources));
    const waiting = behind(statuses, sources, position);
    if (waiting.length === 0) return { position: text, waitedMs: performance.now() - started, query: {} };
    const stopped = waiting.find(({ state }) => state === 'stopped');
    if (stopped)
      throw refusal(
        'PROJECTION_STOPPED',
        `the projection ${stopped.name} stopped and will not reach the position: ${stopped.reason ?? 'no reason is known'}; see the projector's log, repair it and start it again`,
      );
    const left = limit - (performance.now() - started);
    if (left <= 0 || signal.aborted) throw timedOut(waiting, sources, limit);
    await sources.notices.beyond(count, Math.min(POLL_MS, left), signal);
  }
}

function behind(statuses: readonly ProjectionStatus[], { projections }: Sources, position: Offsets): ProjectionStatus[] {
  return statuses.filter(({ name, cursors }) => {
    const projection = projections.find((p) => p.name === name);
    return projection !== undefined && !reached(cursors, restrictToProjection(position, projection));
  });
}

/**
 * Returns whether every partition of a position was read up to it by some projection; what none reads is no proof that the log
 * has it.
 */
function isRead(statuses: readonly ProjectionStatus[], position: Offsets): boolean {
  return [...position].every(([topic, partitions]) =>
    [...partitions].every(([partition, next]) =>
      statuses.some(({ cursors }) => (cursors.get(topic)?.get(partition) ?? -1) >= next),
    ),
  );
}

function timedOut(waiting: readonly ProjectionStatus[], { projections }: Sources, limit: number) {
  const missing = waiting.map(({ name, cursors }) => {
    const projection = projections.find((p) => p.name === name);
    return `${name} (at ${projection ? formatPosition(restrictToProjection(cursors, projection)) || 'the beginning' : 'an unknown place'})`;
  });
  return refusal(
    'TIMED_OUT',
    `not reached within ${limit} ms by ${missing.join(', ')}; wait longer with timeoutMs, or see lag and whether a projector runs`,
  );
}
