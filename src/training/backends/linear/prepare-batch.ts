import type { Column, ConfiguredEstimator, Estimated } from '../../../domain/training/advantages/estimator.ts';
import { correctRollouts } from '../../../domain/training/correction/correct-rollouts.ts';
import { type RefusedOption, refuseOption } from '../../../domain/training/method-options.ts';
import { at, type Masks, type Rows, rowAt } from '../../../domain/training/rows/rows.ts';
import type { FeatureVector } from '../../../policies/linear/features.ts';
import { correctionOf, type EstimatedStep, estimatorBatch, penaliseBatch, tokenRewards } from '../estimator-batch.ts';
import type { TrainingSettings } from '../training-settings.ts';
import { type Valued, valueSteps } from './critic.ts';
import { type Choice, choiceAt, type Decision } from './decisions.ts';
import type { LinearCheckpoint } from './linear-checkpoint.ts';

/** What of the settings of a training a batch is prepared by. */
export type PreparingSettings = Pick<TrainingSettings, 'kl' | 'correction' | 'processRewards'>;

export interface BatchToPrepare {
  /** Read for what its weights say of the steps; called only where something depends on them. */
  readonly from: () => LinearCheckpoint;
  /** In the order in which sums are taken. */
  readonly decisions: readonly Decision[];
  readonly settings: PreparingSettings;
  /** The weights of version 0; null where nothing is held to them. */
  readonly reference: Float64Array | null;
  readonly featuresOf: (decision: Decision) => readonly FeatureVector[];
}

/** A batch as an update takes it: what every step is worth, how much it counts, whether it is trained on. */
export interface PreparedBatch {
  readonly kind: 'prepared';
  /** The choices by the weights of the start, computed when they are first asked for. */
  readonly choices: () => readonly Choice[];
  readonly advantages: Rows;
  readonly returns: Rows;
  /** Null if the estimator needs no critic. */
  readonly valued: Valued | null;
  /** One token for each step: 0 where the correction rejects it. */
  readonly masks: Masks;
  readonly weights: Rows | null;
  /** The coefficient of an adaptive KL penalty behind this batch; null where there is none. */
  readonly klCoefficient: number | null;
  readonly metrics: Readonly<Record<string, number>>;
}

/**
 * Prepares a batch for an update: rewards of its steps, KL in them, correction of rollouts, advantages; all by the weights of the
 * start. Whoever asks later what the advantages of an update were comes here too.
 */
export function prepareBatch(estimator: ConfiguredEstimator, batch: BatchToPrepare): PreparedBatch | RefusedOption {
  const { from, decisions, settings, reference, featuresOf } = batch;
  let known: readonly Choice[] | null = null;
  const choices = () => {
    known ??= decisions.map((decision) => choiceAt(from().policy.values, featuresOf(decision), decision));
    return known;
  };
  const rows = decisions.map(({ row }) => row);
  const one = (value: (i: number) => number): Rows => decisions.map((_, i) => Float64Array.of(value(i)));
  const scores = tokenRewards(rows, new Uint8Array(rows.length).fill(1), settings.processRewards);

  const { kl } = settings;
  if (kl?.in === 'reward' && reference === null) return refuseOption('KL in the reward needs the weights of version 0');
  const penalised =
    kl?.in === 'reward' && reference !== null
      ? penaliseBatch(
          {
            scores,
            logProbs: one((i) => rowAt(choices(), i).logProb),
            refLogProbs: decisions.map((each) => Float64Array.of(choiceAt(reference, featuresOf(each), each).logProb)),
          },
          kl,
          from().klCoefficient,
        )
      : null;

  const masks = rows.map(() => Uint8Array.of(1));
  const rule = correctionOf(settings);
  const silent = rule && rows.find(({ tokens }) => tokens?.logProbs?.length !== 1);
  if (silent)
    return refuseOption(
      `step ${silent.step} of rollout ${silent.rolloutId} has no recorded log-prob, which the correction of rollouts compares with; train without a correction`,
    );
  const corrected =
    rule &&
    correctRollouts(
      { trainer: one((i) => rowAt(choices(), i).logProb), rollout: one((i) => rows[i]?.tokens?.logProbs?.[0] ?? 0), masks },
      rule,
    );

  const { columns } = estimator.readiness;
  const valued = columns.includes('values') ? valueSteps(from().critic, decisions) : null;
  const read = needsChoices(columns) ? choices() : null; // they cost more than all else
  const estimated = estimator.estimate(
    estimatorBatch(estimator.readiness, rows, {
      rewards: penalised?.rewards ?? scores,
      values: valued && one((i) => at(valued.values, i)),
      bootstraps: valued?.bootstraps ?? null,
      oldLogProbs: read && one((i) => rowAt(read, i).logProb),
      squaredProbs: read && one((i) => rowAt(read, i).logProbs.reduce((sum, log) => sum + Math.exp(2 * log), 0)),
      rolloutWeights: corrected?.weights ?? null,
    }),
  );
  if (estimated.kind === 'refused') return estimated;
  const { advantages, returns } = estimated;
  return {
    kind: 'prepared',
    choices,
    advantages,
    returns,
    valued,
    masks: corrected?.masks ?? masks,
    weights: corrected?.weights ?? null,
    klCoefficient: penalised?.nextCoefficient ?? null,
    metrics: { ...penalised?.metrics, ...corrected?.metrics, ...spreadOf('advantage', advantages) },
  };
}

/** Returns whether the advantages of an estimator depend on the weights, or follow from the record alone. */
export function needsWeights({ readiness: { columns } }: ConfiguredEstimator): boolean {
  return columns.includes('values') || needsChoices(columns);
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
  rewards: Rows = rows.map(({ reward }) => Float64Array.of(reward)),
): Estimated | RefusedOption {
  return estimator.estimate(estimatorBatch(estimator.readiness, rows, { rewards }));
}

/** Returns mean and standard deviation of the first entries of rows, as the metrics `<name>Mean` and `<name>Deviation`. */
export function spreadOf(name: string, rows: Rows): Readonly<Record<string, number>> {
  const all = rows.map((row) => at(row, 0));
  const mean = all.reduce((sum, value) => sum + value, 0) / all.length;
  const deviation = Math.sqrt(all.reduce((sum, value) => sum + (value - mean) ** 2, 0) / all.length);
  return { [`${name}Mean`]: mean, [`${name}Deviation`]: deviation };
}
