import { TOPICS } from '../events/catalogue.ts';
import type { Platform } from '../platform/open-platform.ts';
import { runProjections } from '../projections/runner.ts';
import { isOutage } from '../projections/transient-fault.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { retryTransient } from '../runtime/retry-transient.ts';
import { RunBusy } from '../usecases/collect/hold-run.ts';
import { type ProgressLine, printError, progressLine } from './terminal.ts';
import { withPlatform } from './with-platform.ts';

/** What a command works with that reads what the log holds, or appends and reads that. */
export interface ProjectorContext {
  readonly platform: Platform;
  readonly signal: AbortSignal;
  /** Waits until the read models hold everything that is in the log now, through outages. */
  readonly settle: (timeoutMs?: number) => Promise<void>;
  /** A line of progress on stderr; it ends with the command. */
  readonly line: ProgressLine;
}

/** Opens the platform for one command, with projections that fold the log meanwhile, and closes both, however the command ends. */
export function withProjector<T>(name: string, use: (working: ProjectorContext) => Promise<T>): Promise<T> {
  return withPlatform(name, async (platform, signal) => {
    const projector = await ensureProjector(platform, signal);
    const line = progressLine();
    try {
      return await use({ platform, signal, settle: (timeoutMs) => projector.settle(timeoutMs), line });
    } finally {
      line.end();
      await projector.close();
    }
  });
}

interface Projector {
  /** Waits until the read models hold everything that is in the log now. */
  settle(timeoutMs?: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * Runs a member of the projections' group for the time of one command, so that what it appends can be read at its end whether or
 * not a projector runs elsewhere. Next to others it shares the partitions with them. @param signal where the command waits outages
 * out: ends that wait.
 */
export async function ensureProjector(platform: Platform, signal?: AbortSignal): Promise<Projector> {
  const subscription = await runProjections({
    log: platform.log,
    database: platform.database,
    report: (event) => {
      if (event.kind === 'stopped') printError(`projection ${event.projection} stopped: ${event.reason}`);
    },
  });
  let fault: unknown;
  subscription.finished.catch((error: unknown) => {
    fault = error;
  });
  return {
    async settle(timeoutMs = 60_000) {
      const settle = async () => {
        if (fault) throw fault;
        // Ctrl-C ends the wait; what is done behind it is still waited for
        const ending = signal && !signal.aborted ? { signal } : {};
        await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs, ...ending });
      };
      await (signal ? throughOutages(signal, settle) : settle());
    },
    close: () => subscription.close(),
  };
}

/**
 * Does work that goes on where the record ends, and waits outages out: while the database or the log is away, or the disk full, it
 * is begun again and again, as if the command had been started again. Each outage is reported on stderr. @param work is told
 * whether it goes on with what was begun. @throws what is no outage; the one in flight once the signal aborts.
 */
export function throughOutages<T>(signal: AbortSignal, work: (isAgain: boolean) => Promise<T>): Promise<T> {
  let begun = 0;
  let reported: string | null = null;
  const attempt = async (): Promise<T> => {
    if (begun > 0) signal.throwIfAborted(); // while it was waited
    return work(begun++ > 0);
  };
  return retryTransient(attempt, {
    signal,
    // Of an outage shorter than a hold's limit this process still has the hold, and takes it over as it would another's.
    passes: (error) => isOutage(error) || (begun > 1 && error instanceof RunBusy),
    unlimited: isOutage,
    onFault(error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (reason !== reported) printError(`waiting: ${reason}; goes on from the record when that has passed, Ctrl-C ends it`);
      reported = reason;
    },
  });
}
