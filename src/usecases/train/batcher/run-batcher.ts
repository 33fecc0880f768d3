import { formatPosition } from '../../../log/position.ts';
import { CODE_VERSION } from '../../../platform/code-version.ts';
import type { Platform } from '../../../platform/open-platform.ts';
import type { Notices } from '../../../postgres/notices.ts';
import { topicsOf } from '../../../projections/concerns.ts';
import { countMoves } from '../../../projections/moved-cursors.ts';
import { readLineages } from '../../../projections/training-pool/read-lineages.ts';
import { trainingPool } from '../../../projections/training-pool/training-pool.ts';
import { isTransientFault } from '../../../projections/transient-fault.ts';
import { readCursor } from '../../../projections/wait-until.ts';
import type { Running } from '../../../runtime/lifecycle.ts';
import type { Logger } from '../../../runtime/logger.ts';
import { messageOf } from '../../../runtime/message-of.ts';
import { rest } from '../../../runtime/retry.ts';
import { warnSeldom } from '../../../runtime/warn-seldom.ts';
import { TrainingRefused } from '../../../training/read-plan-request.ts';
import { type BatcherWorld, isPlannable, OF_POOL, type PlanningResult, planLineage } from './plan-lineage.ts';

type BatcherReport =
  | {
      readonly kind: 'planned';
      readonly policyId: string;
      readonly batches: number;
      readonly samples: number;
      readonly rejected: number;
    }
  | { readonly kind: 'waiting'; readonly policyId: string; readonly reason: string }
  /** Nothing of any lineage can be read. */
  | { readonly kind: 'away'; readonly error: unknown };

interface BatcherOptions extends BatcherWorld {
  /** Word of moved cursors (`CURSOR_CHANNEL`). */
  readonly notices: Pick<Notices, 'count' | 'beyond'>;
  readonly report: (event: BatcherReport) => void;
}

const LOOK_MS = 2_000; // a notice is a hint: whoever waits also looks
const RETRY_MS = 500;

/**
 * Plans batches for every declared lineage until the signal, whenever the pool has moved. Any number may run: a lineage has one
 * planner at a time. A fault of the world is said and tried again: a planner that is away loses nothing, samples wait in the
 * ledger. A bug ends the loop.
 */
async function runBatcher(options: BatcherOptions, signal: AbortSignal): Promise<void> {
  const said = new Map<string, string>();
  const report = (policyId: string, reason: string): void => {
    if (said.get(policyId) !== reason) options.report({ kind: 'waiting', policyId, reason });
    said.set(policyId, reason);
  };
  let looked: string | null = null;
  while (!signal.aborted) {
    const seen = options.notices.count;
    try {
      const cursors = await Promise.all(OF_POOL.map((each) => readCursor(options.db, each)));
      const position = cursors.map(formatPosition).join(' ');
      const settled: boolean = position === looked || (await planAll(options, report, signal));
      looked = settled ? position : null;
      if (settled) await options.notices.beyond(seen, LOOK_MS, signal);
      else await pause(signal);
    } catch (error) {
      if (signal.aborted) return;
      if (!isTransientFault(error)) throw error;
      options.report({ kind: 'away', error });
      await pause(signal);
    }
  }
}

/** Returns whether every lineage was looked at: false when one is another planner's, or waits for a fault to pass. */
async function planAll(
  options: BatcherOptions,
  report: (policyId: string, reason: string) => void,
  signal: AbortSignal,
): Promise<boolean> {
  let settled = true;
  for (const lineage of await readLineages(options.db, 'all')) {
    const { policyId } = lineage;
    try {
      if (!(await isPlannable(options.db, lineage))) continue; // most moves of the pool lead to nothing
      const done = await planLineage(options, policyId, signal);
      if (done.kind === 'planned') options.report({ policyId, ...done });
      if (done.kind === 'busy') settled = false;
    } catch (error) {
      if (signal.aborted || !(isTransientFault(error) || error instanceof TrainingRefused)) throw error;
      report(policyId, messageOf(error));
      if (!(error instanceof TrainingRefused)) settled = false;
    }
  }
  return settled;
}

function pause(signal: AbortSignal): Promise<void> {
  return rest(RETRY_MS, signal);
}

const CATCH_UP_MS = 60_000;

export interface BatchOptions extends Running {
  /**
   * Plans one policy now, whatever the loop does; `idle` says that nothing follows from all that was recorded before the call.
   * `busy` as well while the database or the log is away.
   */
  planNow(policyId: string, signal: AbortSignal): Promise<PlanningResult>;
}

/** Plans the batches of every declared policy in this process until closed, and says once what was planned or waits. */
export async function batch(
  { database, directUrl, log, blobs, metrics, stamp }: Platform,
  logger: Logger,
): Promise<BatchOptions> {
  const notices = await countMoves(directUrl, topicsOf(trainingPool));
  const planned = metrics.counter('batcher_planned_batches_total', 'Batches that this process planned');
  const waits = metrics.counter('batcher_waits_total', 'Times that planning waited for database, log or a correction');
  const stopping = new AbortController();
  const warnAway = warnSeldom(logger, 'planning waits for the log or the database');
  const producer = { name: 'batcher', version: CODE_VERSION };
  const world = { db: database.db, log, blobs, stamp, producer, clock: Date.now, catchUpMs: CATCH_UP_MS };
  const finished = runBatcher(
    {
      ...world,
      notices,
      report(event) {
        if (event.kind === 'planned') planned.add(event.batches, {});
        else waits.add(1, {});
        if (event.kind === 'away') return warnAway(event.error);
        const { kind, ...fields } = event;
        if (kind === 'planned') logger.info('batches planned', fields);
        else logger.warn('a lineage is not planned', fields);
      },
    },
    stopping.signal,
  );
  return {
    finished,
    async planNow(policyId, signal) {
      try {
        return await planLineage(world, policyId, signal);
      } catch (error) {
        if (isTransientFault(error)) return { kind: 'busy' };
        throw error;
      }
    },
    async close() {
      stopping.abort();
      await finished;
      await notices.close();
    },
  };
}
