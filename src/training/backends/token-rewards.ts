import { addRewards, normaliseOverBatch, placeToolRewards } from '../../domain/training/process/process-rewards.ts';
import { at, type Rows, rowAt } from '../../domain/training/rows/rows.ts';
import { positionsByKey } from '../../domain/training/statistics/groups.ts';
import { type StepRow, trajectoryOf } from './step-row.ts';
import type { ProcessRewardSettings } from './training-settings.ts';

export type RewardedStep = Pick<StepRow, 'groupId' | 'rolloutId' | 'reward' | 'parts'>;

/**
 * Puts the reward of each step on its last token, and process rewards where they are declared to stand: their components leave
 * that sum, are placed and scaled by themselves, and are added again. The scale is over whole trajectories, whose steps are put
 * one after the other. @param rows in the order in which sums are taken, the steps of a rollout in theirs. @param lengths tokens
 * of each. @param callEnds the token that closes each call of a row; null where rewards stand on the last one.
 */
export function tokenRewards(
  rows: readonly RewardedStep[],
  lengths: ArrayLike<number>,
  process: ProcessRewardSettings | undefined,
  callEnds: readonly (readonly number[])[] | null = null,
): Rows {
  if (process === undefined) return onLastTokens(rows, lengths, ({ reward }) => reward);
  const processOf = (row: RewardedStep) => partOf(row, process.components);
  const outcome = onLastTokens(rows, lengths, (row) => row.reward - processOf(row));
  const placed = placeToolRewards(
    rows.map((row, i) => {
      const last = at(lengths, i) - 1;
      return { callEnds: [callEnds?.[i]?.at(-1) ?? last], rewards: [processOf(row)] };
    }),
    lengths,
  );
  return addRewards(outcome, process.normalisation === 'none' ? placed : normaliseTrajectories(rows, placed));
}

function onLastTokens(
  rows: readonly RewardedStep[],
  lengths: ArrayLike<number>,
  rewardOf: (row: RewardedStep) => number,
): Float64Array[] {
  return rows.map((row, i) => {
    const rewards = new Float64Array(at(lengths, i));
    rewards[rewards.length - 1] = rewardOf(row);
    return rewards;
  });
}

/** Sums components on a step itself by their weights. Rewards of the whole rollout are its outcome, whatever their names. */
function partOf({ parts = [] }: RewardedStep, components: readonly string[]): number {
  return parts.reduce((sum, { component, value, weight, of }) => {
    return of === 'step' && components.includes(component) ? sum + weight * value : sum;
  }, 0);
}

function normaliseTrajectories(rows: readonly RewardedStep[], placed: Rows): Rows {
  const scaled: Float64Array[] = placed.map((row) => row);
  const trajectories = [...positionsByKey(rows.map(trajectoryOf)).values()];
  const whole = normaliseOverBatch(trajectories.map((places) => Float64Array.from(places.flatMap((i) => [...rowAt(placed, i)]))));
  for (const [k, places] of trajectories.entries()) {
    let from = 0;
    for (const i of places) {
      const { length } = rowAt(placed, i);
      scaled[i] = rowAt(whole, k).slice(from, from + length);
      from += length;
    }
  }
  return scaled;
}
