import type { JudgedTree, Judgement } from '../../projections/rewards/read-judged.ts';
import type { SeenReward } from '../collect/score-tree.ts';

/**
 * Returns the rewards of a tree as a scorer saw them when it made a judgement of a component: by what was said before it, but for
 * what the scorer said of that component itself: a pass scores a whole tree before it records anything.
 */
export function currentBefore({ rewards }: JudgedTree, component: string, { offset, scorer }: Judgement): readonly SeenReward[] {
  return rewards.flatMap((reward) => {
    const seen = reward.judgements.findLast(
      // a tree lies in one partition
      (each) => each.offset < offset && !(each.scorer === scorer && reward.component === component),
    );
    return seen ? [{ component: reward.component, stepId: reward.stepId, value: seen.value }] : [];
  });
}
