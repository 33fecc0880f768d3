import { type Bootstrap, bootstrapIntervals, type Interval } from './bootstrap-interval.ts';

/** What two runs achieved on one task: the mean over the rollouts of each. */
export interface Pair {
  readonly taskId: string;
  readonly baseline: number;
  readonly other: number;
}

/** How another run does on the tasks that both have. */
export interface PairedComparison {
  readonly tasks: number;
  readonly baselineMean: number;
  readonly otherMean: number;
  /** other − baseline, the mean over the tasks. */
  readonly difference: number;
  /** The bootstrap interval of the difference over the tasks: where it does not hold 0, they differ. */
  readonly interval: Interval;
  readonly better: number;
  readonly worse: number;
  readonly equal: number;
}

/**
 * Compares two runs task by task. A task that is hard is hard for both: the difference within each task is resampled, so that how
 * much tasks differ among themselves does not widen the interval. The same pairs give the same numbers in any order. @throws
 * RangeError without a pair.
 */
export function comparePaired(given: readonly Pair[], bootstrap: Bootstrap): PairedComparison {
  const [compared] = compareAllPaired([given], bootstrap);
  if (!compared) throw new Error('one list of pairs is compared once');
  return compared;
}

/** Compares each list of pairs, as `comparePaired` does: what lists of as many pairs draw is drawn once. */
export function compareAllPaired(given: readonly (readonly Pair[])[], bootstrap: Bootstrap): readonly PairedComparison[] {
  const sorted = given.map((pairs) => [...pairs].sort((a, b) => (a.taskId < b.taskId ? -1 : 1))); // a sum of floating-point numbers has an order
  const differences = sorted.map((pairs) => pairs.map(({ baseline, other }) => other - baseline));
  const intervals = bootstrapIntervals(
    differences.map((each) => each.map((difference) => [difference])),
    bootstrap,
  );
  return sorted.map((pairs, i) => {
    const [own = [], interval] = [differences[i], intervals[i]];
    if (!interval) throw new Error('each list of pairs has an interval');
    return {
      tasks: pairs.length,
      baselineMean: mean(pairs.map(({ baseline }) => baseline)),
      otherMean: mean(pairs.map(({ other }) => other)),
      difference: mean(own),
      interval,
      better: own.filter((difference) => difference > 0).length,
      worse: own.filter((difference) => difference < 0).length,
      equal: own.filter((difference) => difference === 0).length,
    };
  });
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
