/** The state of a compression schedule: data that is recorded with every iteration and read back when a run goes on. */
export interface RewardSchedule {
  /** K: compression is rewarded in every K-th training iteration. */
  readonly every: number;
  /** Training iterations counted so far, over the whole run. */
  readonly n: number;
}

/** Starts a schedule that has counted no iteration. @throws RangeError unless K is 1 or more. */
export function startSchedule(every: number): RewardSchedule {
  if (!Number.isInteger(every) || every < 1)
    throw new RangeError(`a schedule has a period of 1 or more iterations, not ${every}`);
  return { every, n: 0 };
}

/**
 * Counts one training iteration and says whether compression is rewarded in it: `n ← n + 1; active = (n mod K = 0)`
 * (specification of AgentOCR, §2.3). The reference counts calls of a reward manager: it begins again at 0 after a resume, counts
 * an iteration twice when its first try fails, and counts validation batches too. Here an iteration counts once, when its outcome
 * is recorded: try again from the same schedule and the same iteration is tried; evaluation asks no schedule.
 */
export function nextIteration({ every, n }: RewardSchedule): { readonly schedule: RewardSchedule; readonly active: boolean } {
  return { schedule: { every, n: n + 1 }, active: (n + 1) % every === 0 };
}

/** Returns whether compression is rewarded in a training iteration, counted from 1. @throws RangeError unless K is 1 or more. */
export function isRewarded(every: number, iteration: number): boolean {
  return nextIteration({ ...startSchedule(every), n: iteration - 1 }).active;
}
