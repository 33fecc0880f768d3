import type { Column, ConfiguredEstimator, Estimated } from '../../../domain/training/advantages/estimator.ts';
import type { Refused } from '../../../domain/training/options.ts';
import { at, type Rows, rowAt } from '../../../domain/training/rows/rows.ts';
import type { StepRow } from '../step-row.ts';
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

/** Returns whether the advantages of an estimator depend on the weights, or follow from the record alone. */
export function needsWeights({ readiness: { columns } }: ConfiguredEstimator): boolean {
  return columns.includes('values') || needsChoices(columns);
}

/**
 * Estimates the advantages of decisions by the critic and the choices at the start of an update. An update and whoever asks later
 * what its advantages were both come here. @param critic not read where `needsWeights` says no. @param choices asked for only
 * where the estimator reads them: they cost more than all else.
 */
export function assessSteps(
  estimator: ConfiguredEstimator,
  decisions: readonly Decision[],
  critic: Float64Array,
  choices: () => readonly Choice[],
  bootstrap: 'state' | undefined,
): Assessed | Refused {
  const { columns } = estimator.readiness;
  const valued = columns.includes('values') ? valueSteps(critic, decisions, bootstrap) : null;
  const estimated = estimateSteps(
    estimator,
    decisions.map(({ row }) => row),
    needsChoices(columns) ? choices() : null,
    valued,
  );
  if (estimated.kind === 'refused') return estimated;
  return { kind: 'assessed', advantages: estimated.advantages, returns: estimated.returns, valued };
}

function needsChoices(columns: readonly Column[]): boolean {
  return columns.includes('oldLogProbs') || columns.includes('squaredProbs');
}

/** What an estimator sees of a step besides what weights say of it. */
export type EstimatedStep = Pick<StepRow, 'groupId' | 'rolloutId' | 'step' | 'reward' | 'stateHash'>;

/**
 * Asks an estimator for the advantages of steps: each step is a row of its own with one trained token, so that step and
 * trajectory estimators, with and without a critic, all read the same columns. Nothing is padded. @param rows in the order in
 * which sums are taken.
 */
export function estimateSteps(
  estimator: ConfiguredEstimator,
  rows: readonly EstimatedStep[],
  choices: readonly Choice[] | null = null,
  valued: Valued | null = null,
): Estimated | Refused {
  const anchors = rows.map(({ stateHash }) => stateHash);
  const column = (value: (i: number) => number): Rows => rows.map((_, i) => Float64Array.of(value(i)));
  return estimator.estimate({
    rewards: column((i) => rowAt(rows, i).reward),
    masks: rows.map(() => Uint8Array.of(1)),
    groups: rows.map(({ groupId }) => groupId),
    trajectories: rows.map(({ rolloutId }) => rolloutId),
    steps: rows.map(({ step }) => step),
    values: valued && column((i) => at(valued.values, i)),
    bootstraps: valued?.bootstraps ?? null,
    anchors: anchors.every((hash) => hash !== null) ? anchors : null,
    stepRewards: null,
    greedyScores: null,
    oldLogProbs: choices && column((i) => rowAt(choices, i).logProb),
    squaredProbs: choices && column((i) => rowAt(choices, i).logProbs.reduce((sum, log) => sum + Math.exp(2 * log), 0)),
    rolloutWeights: null,
  });
}
