import type { ConfiguredEstimator, Estimated } from '../../../domain/training/advantages/estimator.ts';
import type { Refused } from '../../../domain/training/options.ts';
import { at, type Rows, rowAt } from '../../../domain/training/rows/rows.ts';
import type { Valued } from './critic.ts';
import type { Choice, Decision } from './decisions.ts';

/**
 * Asks an estimator for the advantages of steps: each step is a row of its own with one trained token, so that step and trajectory estimators, with and without
 * a critic, all read the same columns. Nothing is padded.
 */
export function estimateSteps(
  estimator: ConfiguredEstimator,
  decisions: readonly Decision[],
  choices: readonly Choice[],
  valued: Valued | null,
): Estimated | Refused {
  const anchors = decisions.map(({ row }) => row.stateHash);
  const column = (value: (i: number) => number): Rows => decisions.map((_, i) => Float64Array.of(value(i)));
  return estimator.estimate({
    rewards: column((i) => rowAt(decisions, i).row.reward),
    masks: decisions.map(() => Uint8Array.of(1)),
    groups: decisions.map(({ row }) => row.groupId),
    trajectories: decisions.map(({ row }) => row.rolloutId),
    steps: decisions.map(({ row }) => row.step),
    values: valued && column((i) => at(valued.values, i)),
    bootstraps: valued?.bootstraps ?? null,
    anchors: anchors.every((hash) => hash !== null) ? anchors : null,
    stepRewards: null,
    greedyScores: null,
    oldLogProbs: column((i) => rowAt(choices, i).logProb),
    squaredProbs: column((i) => rowAt(choices, i).logProbs.reduce((sum, log) => sum + Math.exp(2 * log), 0)),
    rolloutWeights: null,
  });
}
