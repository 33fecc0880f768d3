import { TOPICS } from '../events/catalogue.ts';
import type { Platform } from '../platform/open-platform.ts';
import { runProjections } from '../projections/runner.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { type ProgressLine, printError, progressLine } from './terminal.ts';
import { throughOutages } from './through-outages.ts';
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
  const start = () =>
    runProjections({
      log: platform.log,
      database: platform.database,
      report: (event) => {
        if (event.kind === 'stopped') printError(`projection ${event.projection} stopped: ${event.reason}`);
      },
    });
  const subscription = await (signal ? throughOutages(signal, start) : start());
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
