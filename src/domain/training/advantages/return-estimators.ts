import { choiceOption, numberOption, refused } from '../options.ts';
import { at, type Masks, type Rows, rowAt, spreadScalars } from '../rows/rows.ts';
import { maskedWhiten } from '../statistics/masked.ts';
import { standardise } from '../statistics/standardise.ts';
import { stepReturns, tokenReturns } from './discounted-returns.ts';
import { ANY_ROWS, closedGroups, defineEstimator } from './estimator.ts';
import { greedyBaseline } from './greedy-baseline.ts';
import { centreOnGroup } from './group-baselines.ts';
import { findSplitTrajectory, gatherMembers, spreadMembers } from './members.ts';
import { optimalBaseline } from './optimal-baseline.ts';
import { scoreRows } from './row-scores.ts';

/**
 * REINFORCE++ (Hu 2025): A = whiten(G)·m, returns = G. The default is the repaired sum; `shipped` loses the outcome before every
 * observation.
 */
export const reinforcePlusPlusEstimator = defineEstimator({
  name: 'reinforce_plus_plus',
  revision: '2', // 1 ended the sum at the end of a row
  options: {
    variant: choiceOption('repaired', 'shipped', 'compact'),
    gamma: numberOption(1, 0, 1),
    over: choiceOption('trajectories', 'rows'),
  },
  readiness: () => ({ ...ANY_ROWS, trainedTokens: 2 }),
  reach: () => 'batch',
  estimate({ rewards, masks, trajectories, steps }, { variant, gamma, over }) {
    const split = variant === 'shipped' && over === 'trajectories' ? findSplitTrajectory(trajectories) : null;
    if (split !== null)
      return refused(`as shipped it knows whole rows only, and trajectory ${split} has several: choose over rows`);
    const returns = tokenReturns(rewards, masks, gamma, variant, over === 'rows' ? null : { trajectories, steps });
    return { advantages: multiply(maskedWhiten(returns, masks), masks), returns };
  },
});

/**
 * REINFORCE++-baseline: s − μ_g on every trained token, whitened over the batch; masked again from verl 0.4 on (`output:
 * masked`), not in Agent-R1 legacy.
 */
export const reinforcePlusPlusBaselineEstimator = defineEstimator({
  name: 'reinforce_plus_plus_baseline',
  revision: '1',
  options: {
    output: choiceOption('masked', 'unmasked'),
    over: choiceOption('trajectory-sums', 'rows'),
    singleton: choiceOption('raw', 'zero', 'forbidden'),
  },
  readiness: ({ singleton }) => ({ ...closedGroups(singleton), trainedTokens: 2 }),
  reach: () => 'batch',
  estimate(batch, { output, over, singleton }) {
    const { masks } = batch;
    const members = gatherMembers(over, scoreRows(batch.rewards, masks, 'all-tokens'), batch);
    const centred = spreadMembers(centreOnGroup(members.scores, members.groups, singleton), members);
    const whitened = maskedWhiten(spreadScalars(centred, masks), masks);
    const advantages = output === 'masked' ? multiply(whitened, masks) : whitened;
    return { advantages, returns: advantages };
  },
});

/** REINFORCE over steps (Agent-R1 v0.1): the discounted return of each step, whitened over the steps of the batch. */
export const reinforceStepEstimator = defineEstimator({
  name: 'reinforce_step',
  revision: '1',
  options: { gamma: numberOption(1, 0, 1) },
  readiness: () => ({ ...ANY_ROWS, trainedSteps: 2 }),
  reach: () => 'batch',
  estimate({ rewards, masks, trajectories, steps }, { gamma }) {
    const returns = stepReturns(scoreRows(rewards, masks, 'trained-tokens'), { trajectories, steps }, gamma);
    return { advantages: spreadScalars(standardise(returns), masks), returns: spreadScalars(returns, masks) };
  },
});

/** ReMax: the greedy rollout of the same prompt is the baseline. */
export const remaxEstimator = defineEstimator({
  name: 'remax',
  revision: '1',
  options: { over: choiceOption('trajectories', 'rows') },
  readiness: () => ({ ...ANY_ROWS, waitsFor: 'greedy-sibling', columns: ['greedyScores'] }),
  reach: () => 'group',
  estimate({ rewards, masks, greedyScores, trajectories, steps }, { over }) {
    if (greedyScores === null) return refused('remax needs greedyScores');
    return greedyBaseline(rewards, masks, greedyScores, over === 'rows' ? null : { trajectories, steps });
  },
});

/** OTB: a baseline for every place of a trajectory, weighed by what its tokens add to the variance. */
export const optimalBaselineEstimator = defineEstimator({
  name: 'optimal_token_baseline',
  revision: '2', // 1 knew single rows
  options: {},
  readiness: () => ({ ...closedGroups('raw'), columns: ['oldLogProbs', 'squaredProbs'] }),
  reach: () => 'group',
  estimate({ oldLogProbs, squaredProbs, ...batch }) {
    if (oldLogProbs === null || squaredProbs === null) return refused('it needs oldLogProbs and squaredProbs');
    return optimalBaseline({ ...batch, oldLogProbs, squaredProbs });
  },
});

function multiply(rows: Rows, masks: Masks): Float64Array[] {
  return rows.map((row, i) => row.map((value, t) => value * at(rowAt(masks, i), t)));
}
