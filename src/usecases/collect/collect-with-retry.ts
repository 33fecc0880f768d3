import { newId } from '../../events/new-id.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { isOutage, isTransientFault } from '../../projections/transient-fault.ts';
import { retryTransient } from '../../runtime/retry-transient.ts';
import { type Collection, collect, RunFailed } from './collect.ts';
import type { CollectedRun } from './collect-run.ts';

export interface RetriedCollection extends Omit<Collection, 'mode'> {
  /** Called for every fault that is waited out: the database, the log or what an environment asks is away. */
  readonly onFault: (error: unknown) => void;
}

/**
 * Collects a run or what is left of it, and waits out what passes by itself: it then resumes from the record, as a process that
 * was started again would, and comes to the same trees. @throws what `collect` throws and does not pass.
 */
export async function collectWithRetry(platform: Platform, { onFault, ...collection }: RetriedCollection): Promise<CollectedRun> {
  const hold = { ...collection.hold, holder: newId() }; // the run is still held where a fault kept it from being given back
  const work = async (): Promise<CollectedRun> => {
    const collected = await collect(platform, { ...collection, hold, mode: 'resume' });
    if (collected.state === 'interrupted') throw new RunFailed(collection.runId, collected);
    return collected;
  };
  return retryTransient(work, {
    passes: (error) => error instanceof RunFailed || isTransientFault(error),
    unlimited: isOutage,
    onFault,
    signal: collection.signal,
  });
}
