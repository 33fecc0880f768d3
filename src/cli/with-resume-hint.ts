import { TOPICS } from '../events/catalogue.ts';
import type { Platform } from '../platform/open-platform.ts';
import { readRun } from '../projections/runs/read-runs.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { AnotherWorld } from '../usecases/collect/another-world.ts';
import { RunRefused } from '../usecases/collect/hold-run.ts';
import { PolicyUnfit } from '../usecases/collect/refuse-unfit.ts';
import { throughOutages } from './through-outages.ts';

const CATCH_UP_MS = 10_000;

/** A fault ended what collects a run before its end; the run is on record as far as it came. */
export class RunInterrupted extends Error {
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
