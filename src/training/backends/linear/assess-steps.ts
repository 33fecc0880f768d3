import type { Column, ConfiguredEstimator, Estimated } from '../../../domain/training/advantages/estimator.ts';
import type { Refused } from '../../../domain/training/options.ts';
import { at, type Rows, rowAt } from '../../../domain/training/rows/rows.ts';
import { type EstimatedStep, estimatorBatch } from '../estimator-batch.ts';
import { type Valued, valueSteps } from './critic.ts';
import type { Choice, Decision } from './decisions.ts';

/** What an update knows of its batch before it moves a weight. */
export interface Assessed {
  readonly kind: 'assessed';
  readonly advantages: Rows;
  readonly returns: Rows;
  /** Null where the estimator needs no critic. */
  readonly valued: Valued | null;
}

export interface StepReadings {
  /** Not read where `needsWeights` says no. */
  readonly critic: Float64Array;
  /** Asked for only where the estimator reads them: they cost more than all else. */
  readonly choices: () => readonly Choice[];
  readonly bootstrap: 'state' | undefined;
  /** One for each step; left out, what the steps earned. */
  readonly rewards?: Rows | undefined;
  /** Importance weights of the rollout correction. */
  readonly rolloutWeights?: Rows | null | undefined;
}

/** Returns whether the advantages of an estimator depend on the weights, or follow from the record alone. */
export function needsWeights({ readiness: { columns } }: ConfiguredEstimator): boolean {
  return columns.includes('values') || needsChoices(columns);
}

/**
 * Estimates the advantages of decisions by the critic and the choices at the start of an update. An update and whoever asks later
 * what its advantages were both come here.
 */
export function assessSteps(
  estimator: ConfiguredEstimator,
  decisions: readonly Decision[],
  { critic, choices, bootstrap, rewards, rolloutWeights = null }: StepReadings,
): Assessed | Refused {
  const { columns } = estimator.readiness;
  const valued = columns.includes('values') ? valueSteps(critic, decisions, bootstrap) : null;
  const rows = decisions.map(({ row }) => row);
  const read = needsChoices(columns) ? choices() : null;
  const column = (value: (i: number) => number): Rows => rows.map((_, i) => Float64Array.of(value(i)));
  const estimated = estimator.estimate(
    estimatorBatch(estimator.readiness, rows, {
      rewards: rewards ?? rewardsOf(rows),
      values: valued && column((i) => at(valued.values, i)),
      bootstraps: valued?.bootstraps ?? null,
      oldLogProbs: read && column((i) => rowAt(read, i).logProb),
      squaredProbs: read && column((i) => rowAt(read, i).logProbs.reduce((sum, log) => sum + Math.exp(2 * log), 0)),
      rolloutWeights,
    }),
  );
  if (estimated.kind === 'refused') return estimated;
  return { kind: 'assessed', advantages: estimated.advantages, returns: estimated.returns, valued };
}

function needsChoices(columns: readonly Column[]): boolean {
  return columns.includes('oldLogProbs') || columns.includes('squaredProbs');
}

/**
 * Asks an estimator for the advantages of steps from the record alone: each step is a row of its own with one trained token, so
 * that step and trajectory estimators all read the same columns. @param rows in the order in which sums are taken.
 */
export function estimateSteps(
  estimator: ConfiguredEstimator,
  rows: readonly EstimatedStep[],
  rewards: Rows = rewardsOf(rows),
): Estimated | Refused {
  return estimator.estimate(estimatorBatch(estimator.readiness, rows, { rewards }));
}

function rewardsOf(rows: readonly EstimatedStep[]): Rows {
  return rows.map(({ reward }) => Float64Array.of(reward));
}
