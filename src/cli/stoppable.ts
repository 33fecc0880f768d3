import { isAbort } from '../runtime/is-abort.ts';
import { printError } from './terminal.ts';

/** A signal ended a command before its work was done. */
export class Stopped extends Error {
  override readonly name = 'Stopped';
}

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 } as const; // 128 + signal, as a shell reports it
type StopSignal = keyof typeof EXIT_CODES;

let stoppedBy: StopSignal | null = null;

/**
 * Runs work that Ctrl-C may stop: the first signal aborts `signal` and lets the work in progress end, the second ends the process
 * at once.
 * @throws Stopped when the work threw because it was aborted.
 */
export async function stoppable<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stopping = new AbortController();
  const onSignal = (name: StopSignal) => {
    if (stopping.signal.aborted) process.exit(EXIT_CODES[name]);
    printError(['', 'stopping after the work in progress; press Ctrl-C again to stop at once']);
    stoppedBy = name;
    stopping.abort();
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  try {
    return await work(stopping.signal);
  } catch (error) {
    if (isAbort(error, stopping.signal)) throw new Stopped('stopped', { cause: error });
    throw error;
  } finally {
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
  }
}

/** Lets the process end with the code of the signal that stopped its work: 130 for SIGINT, 143 for SIGTERM. */
export function exitStopped(): void {
  process.exitCode = EXIT_CODES[stoppedBy ?? 'SIGINT'];
}
