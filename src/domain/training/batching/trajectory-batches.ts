import { at, rowAt } from '../rows/rows.ts';
import { positionsByKey } from '../statistics/groups.ts';

/**
 * One row of a padded plan. A padding row repeats a row with a response mask of zeros: it moves nothing, and it is never counted
 * as a sample.
 */
export interface PlannedRow {
  readonly sourceRow: number;
  readonly miniBatch: number;
  readonly sample: 'real' | 'padding';
}

/** What the losses of a mini-batch are divided by on every rank, so that the cut does not change them. */
export interface MiniBatchTotals {
  readonly rows: number;
  readonly tokens: number;
}

export interface TrajectoryPlan {
  /** The rows of each rank, mini-batch after mini-batch; every rank has as many of each mini-batch. */
  readonly ranks: readonly (readonly PlannedRow[])[];
  readonly miniBatches: readonly MiniBatchTotals[];
}

/**
 * Plans mini-batches that keep trajectories whole (Agent-R1 v0.1): trajectories in first-seen order, `miniBatchSize` of them to a
 * mini-batch, dealt whole and round-robin to the ranks, and each rank filled up to the same count with masked copies of the
 * mini-batch's first row. The totals count real rows and real tokens only.
 * @param tokens trained tokens of each row. @throws RangeError unless size and ranks are positive integers.
 */
export function planTrajectoryBatches(
  trajectories: readonly string[],
  tokens: ArrayLike<number>,
  { miniBatchSize, ranks: rankCount }: { readonly miniBatchSize: number; readonly ranks: number },
): TrajectoryPlan {
  for (const count of [miniBatchSize, rankCount]) {
    if (!Number.isInteger(count) || count < 1)
      throw new RangeError(`mini-batch size and ranks are positive integers, not ${count}`);
  }
  const members = [...positionsByKey(trajectories).values()];
  const ranks = Array.from({ length: rankCount }, (): PlannedRow[] => []);
  const miniBatches: MiniBatchTotals[] = [];
  for (let start = 0; start < members.length; start += miniBatchSize) {
    const miniBatch = miniBatches.length;
    const chosen = members.slice(start, start + miniBatchSize);
    const dealt = ranks.map((_, rank) => chosen.filter((_rows, i) => i % rankCount === rank).flat());
    const most = dealt.reduce((longest, { length }) => Math.max(longest, length), 0);
    const rows = chosen.flat();
    const padding: PlannedRow = { sourceRow: at(rows, 0), miniBatch, sample: 'padding' };
    for (const [rank, own] of dealt.entries()) {
      const real = own.map((sourceRow): PlannedRow => ({ sourceRow, miniBatch, sample: 'real' }));
      for (const row of real) rowAt(ranks, rank).push(row);
      for (let length = own.length; length < most; length++) rowAt(ranks, rank).push(padding);
    }
    miniBatches.push({ rows: rows.length, tokens: rows.reduce((sum, row) => sum + at(tokens, row), 0) });
  }
  return { ranks, miniBatches };
}
