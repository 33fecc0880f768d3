import { TOPICS } from '../events/catalogue.ts';
import type { Platform } from '../platform/open-platform.ts';
import { runProjections } from '../projections/runner.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { printError } from './terminal.ts';
import { throughOutages } from './through-outages.ts';

export interface Projector {
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
