import { choiceOption, numberOption } from '../options.ts';
import { countTrained, type Masks, spreadScalars } from '../rows/rows.ts';
import { closedGroups, defineEstimator, type Estimated } from './estimator.ts';
import { groupPolicyGradient, leaveOneOut, lengthWeighted } from './group-baselines.ts';
import { groupRelative } from './group-relative.ts';
import { passAtK } from './pass-at-k.ts';
import { scoreRows } from './row-scores.ts';

const KEEPING_SINGLETONS = choiceOption('raw', 'zero', 'forbidden');

/** GRPO and Dr.GRPO (`scale: none`), over rows, trajectories, or sums of step rewards: see `group-relative.ts`. `scores: trained-tokens` is Agent-R1 legacy's sum. */
export const grpoEstimator = defineEstimator({
  name: 'grpo',
  revision: '1',
  options: {
    over: choiceOption('rows', 'trajectories', 'trajectory-sums'),
    scale: choiceOption('std', 'none', 'floored-std'),
    scores: choiceOption('all-tokens', 'trained-tokens'),
    singleton: KEEPING_SINGLETONS,
  },
  readiness: ({ singleton }) => closedGroups(singleton),
  estimate({ rewards, masks, groups, trajectories }, options) {
    return spreadAll(groupRelative({ scores: scoreRows(rewards, masks, options.scores), groups, trajectories }, options), masks);
  },
});

/** Pass@k training. The rows are the members of a group: one row for each trajectory. */
export const passAtKEstimator = defineEstimator({
  name: 'pass_at_k',
  revision: '1',
  options: { scale: choiceOption('std', 'none') },
  readiness: () => closedGroups('forbidden'),
  estimate: ({ rewards, masks, groups }, { scale }) =>
    spreadAll(passAtK(scoreRows(rewards, masks, 'all-tokens'), groups, scale), masks),
});

/** RLOO. Without another member there is nothing to compare with: a group of one is refused unless the run says what it should give. */
export const rlooEstimator = defineEstimator({
  name: 'rloo',
  revision: '1',
  options: { singleton: choiceOption('forbidden', 'raw', 'zero') },
  readiness: ({ singleton }) => closedGroups(singleton),
  estimate: ({ rewards, masks, groups }, { singleton }) =>
    spreadAll(leaveOneOut(scoreRows(rewards, masks, 'all-tokens'), groups, singleton), masks),
});

/** OPO: the length-weighted baseline. */
export const opoEstimator = defineEstimator({
  name: 'opo',
  revision: '1',
  options: { singleton: KEEPING_SINGLETONS },
  readiness: ({ singleton }) => closedGroups(singleton),
  estimate({ rewards, masks, groups }, { singleton }) {
    const scores = scoreRows(rewards, masks, 'all-tokens');
    return spreadAll(lengthWeighted(scores, groups, masks.map(countTrained), singleton), masks);
  },
});

/** GPG: group-centred scores, scaled up by the share of rows that carry a signal. */
export const gpgEstimator = defineEstimator({
  name: 'gpg',
  revision: '1',
  options: { fNorm: numberOption(1, 1e-6, 1e6), singleton: KEEPING_SINGLETONS },
  readiness: ({ singleton }) => closedGroups(singleton),
  estimate: ({ rewards, masks, groups }, options) =>
    spreadAll(groupPolicyGradient(scoreRows(rewards, masks, 'all-tokens'), groups, options), masks),
});

/** Estimators of an outcome have no returns of their own: upstream gives the advantages again. */
function spreadAll(scalars: Float64Array, masks: Masks): Omit<Estimated, 'kind'> {
  const advantages = spreadScalars(scalars, masks);
  return { advantages, returns: advantages };
}
