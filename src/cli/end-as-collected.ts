import type { Collected } from '../usecases/collect/collect-run.ts';
import { exitStopped } from './stoppable.ts';
import { print, printError } from './terminal.ts';

/**
 * Lets a command end as its run did: with the code of the signal that stopped it, 1 for one that failed, was interrupted or in
 * which most rollouts failed. @param again the command that continues the run; null where standard output takes JSON alone.
 */
export function endAsCollected(
  runId: string,
  { state, mostFailed }: Pick<Collected, 'state' | 'mostFailed'>,
  again: string | null,
): void {
  if ((state === 'stopped' || state === 'interrupted') && again !== null) print(`continue with: ${again}`);
  if (state === 'completed' && mostFailed)
    printError(`espalier: warning: most of run ${runId} failed; what is recorded of it is little more than failures`);
  if (state === 'failed' || state === 'interrupted' || mostFailed) process.exitCode = 1;
  if (state === 'stopped') exitStopped();
}
