import { choiceOption, numberOption, refused } from '../options.ts';
import { spreadScalars } from '../rows/rows.ts';
import { stepReturns } from './discounted-returns.ts';
import { ANY_ROWS, defineEstimator } from './estimator.ts';
import { gigpo } from './gigpo.ts';
import { scoreRows } from './row-scores.ts';

/**
 * GiGPO. `episode` says what `rewards` hold: step rewards, summed per trajectory (`trajectory-sums`), or the episode's score in
 * every row; the latter needs `stepRewards` too. Shaping of the step rewards (verl-agent subtracts coefficient·(1 − valid))
 * happens before.
 */
export const gigpoEstimator = defineEstimator({
  name: 'gigpo',
  revision: '1',
  options: {
    mode: choiceOption('mean_std_norm', 'mean_norm'),
    episode: choiceOption('trajectory-sums', 'rows', 'trajectories'),
    scores: choiceOption('all-tokens', 'trained-tokens'),
    gamma: numberOption(1, 0, 1),
    stepWeight: numberOption(1, 0, 1_000),
    anchors: choiceOption('exact', 'similar'),
    threshold: numberOption(0.95, 0, 1),
  },
  readiness: ({ episode }) => ({
    ...ANY_ROWS,
    waitsFor: 'closed-groups',
    columns: episode === 'trajectory-sums' ? ['anchors'] : ['anchors', 'stepRewards'],
  }),
  reach: () => 'group',
  estimate({ rewards, masks, groups, trajectories, steps, anchors, stepRewards }, options) {
    if (anchors === null) return refused('gigpo needs anchors');
    const scores = scoreRows(rewards, masks, options.scores);
    const returns = stepReturns(stepRewards ?? scores, { trajectories, steps }, options.gamma);
    const { combined } = gigpo(
      { scores, groups, trajectories, anchors, stepReturns: returns },
      {
        episodeOver: options.episode,
        mode: options.mode,
        stepWeight: options.stepWeight,
        sameness: options.anchors === 'exact' ? { kind: 'exact' } : { kind: 'similar', threshold: options.threshold },
      },
    );
    const advantages = spreadScalars(combined, masks);
    return { advantages, returns: advantages };
  },
});
