import { TOPICS } from '../events/catalogue.ts';
import type { Platform } from '../platform/open-platform.ts';
import { readImageTotalsOfRuns } from '../projections/images/read-image-totals.ts';
import { readRun } from '../projections/runs/read-runs.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import type { CollectedRun } from '../usecases/collect/collect-run.ts';
import { RunRefused } from '../usecases/collect/hold-run.ts';
import { AnotherWorld, PolicyUnfit } from '../usecases/collect/refuse-unfit.ts';
import { exitStopped } from './stoppable.ts';
import { print, printError } from './terminal.ts';
import { throughOutages } from './through-outages.ts';

const CATCH_UP_MS = 10_000;

/** A fault ended what collects a run before its end; the run is on record as far as it came. */
class RunInterrupted extends Error {
  override readonly name = 'RunInterrupted';
}

/**
 * Does what collects a run, through outages. Another fault of the world that ends it (a server that hangs) is thrown with how the run goes on, where it was
 * begun; a refusal names its own remedy. @param command goes on with the run.
 */
export async function withResumeHint<T>(
  platform: Pick<Platform, 'database' | 'log'>,
  { runId, command, signal }: { readonly runId: string; readonly command: string; readonly signal: AbortSignal },
  work: (isAgain: boolean) => Promise<T>,
): Promise<T> {
  try {
    return await throughOutages(signal, work);
  } catch (error) {
    const isRefusal = [RunRefused, AnotherWorld, PolicyUnfit].some((kind) => error instanceof kind);
    if (isRefusal || signal.aborted || !(error instanceof Error) || !(await isOpen(platform, runId))) throw error;
    throw new RunInterrupted(`${error.message}; the run is kept as far as it came, continue with: ${command}`, { cause: error });
  }
}

/** Whether a run was begun and has no end. Where nobody can say, it was: the command then says so itself. */
async function isOpen({ database, log }: Pick<Platform, 'database' | 'log'>, runId: string): Promise<boolean> {
  try {
    await waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: CATCH_UP_MS });
    const run = await readRun(database.db, runId);
    return run !== undefined && run.finishedAt === null;
  } catch {
    return true;
  }
}

/**
 * Lets a command end as its run did: with the code of the signal that stopped it, 1 for one that failed, was interrupted or in
 * which most rollouts failed. @param again the command that continues the run; null where standard output takes JSON alone.
 */
export function endAsCollected(
  runId: string,
  { state, mostFailed }: Pick<CollectedRun, 'state' | 'mostFailed'>,
  again: string | null,
): void {
  if ((state === 'stopped' || state === 'interrupted') && again !== null) print(`continue with: ${again}`);
  warnMostFailed(runId, { state, mostFailed });
  if (state === 'failed' || state === 'interrupted') process.exitCode = 1;
  if (state === 'stopped') exitStopped();
}

/** Has a command end with 1 where most rollouts failed, and says so where nothing else does. */
export function warnMostFailed(
  runId: string,
  { state, mostFailed }: { readonly state: string; readonly mostFailed: boolean },
): void {
  if (!mostFailed) return;
  process.exitCode = 1;
  if (state === 'completed')
    printError(`espalier: warning: most of run ${runId} failed; what is recorded of it is little more than failures`);
}

/**
 * Notes on stderr how many characters in the images of a run the published renderer may draw otherwise. The read models must hold
 * the run.
 */
export async function warnUnshaped({ database }: Platform, runId: string): Promise<void> {
  const [totals] = await readImageTotalsOfRuns(database.db, [runId]);
  const unshaped = Number(totals?.unshaped ?? 0); // a sum, which the driver may give as a string
  if (unshaped > 0)
    printError(
      `note: the images of run ${runId} show ${unshaped} characters that the published renderer may draw otherwise (unshaped of historyImage in GraphQL)`,
    );
}
