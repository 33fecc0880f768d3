import { RebuildUnderWay } from '../projections/rebuild/hold-rebuild.ts';
import { isOutage } from '../projections/transient-fault.ts';
import { retryTransient } from '../runtime/retry-transient.ts';
import { RunBusy } from '../usecases/collect/hold-run.ts';
import { printError } from './terminal.ts';

/**
 * Does work that goes on where the record ends, and waits outages out: while the database or the log is away, or the disk full, it
 * is begun again and again, as if the command had been started again. Each outage is reported on stderr. @param work is told
 * whether it goes on with what was begun. @param passes names the outages. @throws what is no outage; the one in flight once the
 * signal aborts.
 */
export function throughOutages<T>(
  signal: AbortSignal,
  work: (isAgain: boolean) => Promise<T>,
  passes: (error: unknown) => boolean = isOutage,
): Promise<T> {
  let begun = 0;
  let reported: string | null = null;
  const attempt = async (): Promise<T> => {
    if (begun > 0) signal.throwIfAborted(); // while it was waited
    return work(begun++ > 0);
  };
  return retryTransient(attempt, {
    signal,
    // Of an outage shorter than a hold's limit this process still has the hold, and takes it over as it would another's.
    passes: (error) => passes(error) || (begun > 1 && (error instanceof RunBusy || error instanceof RebuildUnderWay)),
    unlimited: passes,
    onFault(error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (reason !== reported) printError(`waiting: ${reason}; continues when it has passed, Ctrl-C ends it`);
      reported = reason;
    },
  });
}
