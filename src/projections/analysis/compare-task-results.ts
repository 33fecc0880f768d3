import type { Bootstrap } from '../../domain/evaluation/bootstrap-interval.ts';
import { compareAllPaired, type Pair, type PairedComparison } from '../../domain/evaluation/compare-paired.ts';
import type { Db } from '../../postgres/database.ts';
import { readTaskResults, type TaskResults } from './read-task-results.ts';

/** A run next to the baseline, on the tasks that both have. */
export interface ComparedRun {
  readonly runId: string;
  readonly baselineId: string;
  readonly tasks: number;
  /** Tasks of the run that the baseline lacks. */
  readonly unpaired: number;
  readonly success: PairedComparison | null;
  readonly return: PairedComparison | null;
}

/** Compares runs with the first one, task by task: each of the others in its order. */
export async function compareTaskResults(
  db: Db,
  [baselineId = '', ...others]: readonly string[],
  bootstrap: Bootstrap,
): Promise<readonly ComparedRun[]> {
  const achieved = await readTaskResults(db, [baselineId, ...others]);
  const baseline = new Map(achieved.filter(({ runId }) => runId === baselineId).map((each) => [each.taskId, each]));
  return others.map((runId) => {
    const own = achieved.filter((each) => each.runId === runId);
    const both = own.flatMap((other) => {
      const before = baseline.get(other.taskId);
      return before ? [{ before, other }] : [];
    });
    const by = (of: (each: TaskResults) => number | null) => {
      const pairs = both.flatMap(({ before, other }): Pair[] => {
        const [left, right] = [of(before), of(other)];
        return left === null || right === null ? [] : [{ taskId: other.taskId, baseline: left, other: right }];
      });
      return pairs;
    };
    const parts = [by(({ successRate }) => successRate), by(({ meanReturn }) => meanReturn)];
    const compared = compareAllPaired(
      parts.filter(({ length }) => length > 0),
      bootstrap,
    ).values();
    const [success = null, returned = null] = parts.map(({ length }) => (length > 0 ? (compared.next().value ?? null) : null));
    return {
      runId,
      baselineId,
      tasks: both.length,
      unpaired: own.length - both.length,
      success,
      return: returned,
    };
  });
}
