import { at, countTrained, type Masks, type Rows, rowAt } from '../rows/rows.ts';
import { positionsByKey } from '../statistics/groups.ts';
import { maskedSum, sumOf } from '../statistics/masked.ts';

/**
 * What is compared within a group. `trajectory-sums`: trajectories, by the sum of their rows' scores; with one row for each this
 * is what is published, and with a row for each step it stays right. `rows`: each row by itself, for rows that carry their
 * episode's whole score.
 */
export type MemberUnit = 'trajectory-sums' | 'rows';

/** The members of the groups of a batch, and which of them each row belongs to. */
export interface Members {
  readonly scores: Float64Array;
  readonly groups: readonly string[];
  /** Trained tokens. */
  readonly lengths: Float64Array;
  readonly ofRow: Int32Array;
}

/** Gathers rows into members; members stand in the order of their first rows. */
export function gatherMembers(
  unit: MemberUnit,
  scores: ArrayLike<number>,
  {
    masks,
    groups,
    trajectories,
  }: { readonly masks: Masks; readonly groups: readonly string[]; readonly trajectories: readonly string[] },
): Members {
  const members = unit === 'rows' ? groups.map((_, row) => [row]) : [...positionsByKey(trajectories).values()];
  const ofRow = new Int32Array(groups.length);
  for (const [member, rows] of members.entries()) for (const row of rows) ofRow[row] = member;
  return {
    scores: Float64Array.from(members, (rows) => sumOf(rows.map((row) => at(scores, row)))),
    groups: members.map((rows) => rowAt(groups, at(rows, 0))),
    lengths: Float64Array.from(members, (rows) => sumOf(rows.map((row) => countTrained(rowAt(masks, row))))),
    ofRow,
  };
}

/** Returns the value of its member for each row. */
export function spreadMembers(values: ArrayLike<number>, { ofRow }: Members): Float64Array {
  return Float64Array.from(ofRow, (member) => at(values, member));
}

/** Finds a trajectory of more than one row; null when each has one. */
export function findSplitTrajectory(trajectories: readonly string[]): string | null {
  for (const [trajectory, rows] of positionsByKey(trajectories)) if (rows.length > 1) return trajectory;
  return null;
}

/**
 * Sums the token rewards of each row: over all its tokens (verl), or over the trained ones only (Agent-R1 legacy). A reward that
 * is on a tool's token counts in the first and is lost in the second; the two can even rank a group the other way round.
 */
export function scoreRows(rewards: Rows, masks: Masks, over: 'all-tokens' | 'trained-tokens'): Float64Array {
  return Float64Array.from(rewards, (row, i) => (over === 'all-tokens' ? sumOf(row) : maskedSum([row], [rowAt(masks, i)])));
}

/** Returns for every row the sum of the scores of its trajectory's rows. Source: Agent-R1 v0.1. */
export function sumTrajectories(scores: ArrayLike<number>, trajectories: readonly string[]): Map<string, number> {
  const sums = [...positionsByKey(trajectories)].map(
    ([trajectory, rows]) => [trajectory, sumOf(rows.map((row) => at(scores, row)))] as const,
  );
  return new Map(sums);
}
