import { choiceOption, numberOption } from '../options.ts';
import { type Masks, spreadScalars } from '../rows/rows.ts';
import { closedGroups, defineEstimator, type Estimated, type EstimatorBatch } from './estimator.ts';
import { groupPolicyGradient, leaveOneOut, lengthWeighted } from './group-baselines.ts';
import { groupRelative } from './group-relative.ts';
import { gatherMembers, type Members, type MemberUnit, spreadMembers } from './members.ts';
import { passAtK } from './pass-at-k.ts';
import { scoreRows } from './row-scores.ts';

const OVER = choiceOption('trajectory-sums', 'rows');
const KEEPING_SINGLETONS = choiceOption('raw', 'zero', 'forbidden');

/**
 * GRPO and Dr.GRPO (`scale: none`), over rows, trajectories, or sums of step rewards: see `group-relative.ts`. `scores:
 * trained-tokens` is Agent-R1 legacy's sum.
 */
export const grpoEstimator = defineEstimator({
  name: 'grpo',
  revision: '1',
  options: {
    over: choiceOption('trajectory-sums', 'rows', 'trajectories'),
    scale: choiceOption('std', 'none', 'floored-std'),
    scores: choiceOption('all-tokens', 'trained-tokens'),
    singleton: KEEPING_SINGLETONS,
  },
  readiness: ({ singleton }) => closedGroups(singleton),
  reach: () => 'group',
  estimate({ rewards, masks, groups, trajectories }, options) {
    return spreadAll(groupRelative({ scores: scoreRows(rewards, masks, options.scores), groups, trajectories }, options), masks);
  },
});

/** Pass@k training. */
export const passAtKEstimator = defineEstimator({
  name: 'pass_at_k',
  revision: '1',
  options: { over: OVER, scale: choiceOption('std', 'none') },
  readiness: () => closedGroups('forbidden'),
  reach: () => 'group',
  estimate: (batch, { over, scale }) => compareMembers(batch, over, ({ scores, groups }) => passAtK(scores, groups, scale)),
});

/**
 * RLOO. Without another member there is nothing to compare with: a group of one is refused unless the run says what it should
 * give.
 */
export const rlooEstimator = defineEstimator({
  name: 'rloo',
  revision: '1',
  options: {
    over: OVER,
    scores: choiceOption('all-tokens', 'trained-tokens'),
    singleton: choiceOption('forbidden', 'raw', 'zero'),
  },
  readiness: ({ singleton }) => closedGroups(singleton),
  reach: () => 'group',
  estimate: (batch, { over, scores: tokens, singleton }) =>
    compareMembers(batch, over, ({ scores, groups }) => leaveOneOut(scores, groups, singleton), tokens),
});

/** OPO: the length-weighted baseline. */
export const opoEstimator = defineEstimator({
  name: 'opo',
  revision: '1',
  options: { over: OVER, singleton: KEEPING_SINGLETONS },
  readiness: ({ singleton }) => closedGroups(singleton),
  reach: () => 'group',
  estimate: (batch, { over, singleton }) =>
    compareMembers(batch, over, ({ scores, groups, lengths }) => lengthWeighted(scores, groups, lengths, singleton)),
});

/** GPG: group-centred scores, scaled up by the share of members that carry a signal. */
export const gpgEstimator = defineEstimator({
  name: 'gpg',
  revision: '1',
  options: { over: OVER, fNorm: numberOption(1, 1e-6, 1e6), singleton: KEEPING_SINGLETONS },
  readiness: ({ singleton }) => closedGroups(singleton),
  reach: () => 'batch',
  estimate: (batch, { over, ...options }) =>
    compareMembers(batch, over, ({ scores, groups }) => groupPolicyGradient(scores, groups, options)),
});

function compareMembers(
  batch: EstimatorBatch,
  over: MemberUnit,
  compare: (members: Members) => Float64Array,
  scored: Parameters<typeof scoreRows>[2] = 'all-tokens',
): Omit<Estimated, 'kind'> {
  const members = gatherMembers(over, scoreRows(batch.rewards, batch.masks, scored), batch);
  return spreadAll(spreadMembers(compare(members), members), batch.masks);
}

/** Estimators of an outcome have no returns of their own: upstream returns the advantages again. */
function spreadAll(scalars: Float64Array, masks: Masks): Omit<Estimated, 'kind'> {
  const advantages = spreadScalars(scalars, masks);
  return { advantages, returns: advantages };
}
