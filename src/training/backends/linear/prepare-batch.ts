import type { ConfiguredEstimator } from '../../../domain/training/advantages/estimator.ts';
import { correctRollouts } from '../../../domain/training/correction/correct-rollouts.ts';
import { type Refused, refused } from '../../../domain/training/options.ts';
import { type Masks, type Rows, rowAt } from '../../../domain/training/rows/rows.ts';
import type { FeatureVector } from '../../../policies/linear/features.ts';
import { correctionOf } from '../correction-of.ts';
import { penaliseBatch } from '../penalise-batch.ts';
import { tokenRewards } from '../token-rewards.ts';
import type { TrainingSettings } from '../training-settings.ts';
import { type Assessed, assessSteps } from './assess-steps.ts';
import { type Choice, choiceAt, type Decision } from './decisions.ts';
import type { LinearCheckpoint } from './linear-checkpoint.ts';

/** What of the settings of a training a batch is prepared by. */
export interface PreparingSettings extends Pick<TrainingSettings, 'kl' | 'correction' | 'processRewards'> {
  readonly critic: Pick<TrainingSettings['critic'], 'bootstrap'>;
}

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
  readonly assessed: Assessed;
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
export function prepareBatch(estimator: ConfiguredEstimator, batch: BatchToPrepare): PreparedBatch | Refused {
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
  if (kl?.in === 'reward' && reference === null) return refused('KL in the reward needs the weights of version 0');
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
    return refused(
      `step ${silent.step} of rollout ${silent.rolloutId} has no recorded log-prob, which the correction of rollouts compares with; train without a correction`,
    );
  const corrected =
    rule &&
    correctRollouts(
      { trainer: one((i) => rowAt(choices(), i).logProb), rollout: one((i) => rows[i]?.tokens?.logProbs?.[0] ?? 0), masks },
      rule,
    );

  const assessed = assessSteps(estimator, decisions, {
    critic: estimator.readiness.columns.includes('values') ? from().critic : new Float64Array(),
    choices,
    bootstrap: settings.critic.bootstrap,
    rewards: penalised?.rewards ?? scores,
    rolloutWeights: corrected?.weights,
  });
  if (assessed.kind === 'refused') return assessed;
  return {
    kind: 'prepared',
    choices,
    assessed,
    masks: corrected?.masks ?? masks,
    weights: corrected?.weights ?? null,
    klCoefficient: penalised?.nextCoefficient ?? null,
    metrics: { ...penalised?.metrics, ...corrected?.metrics },
  };
}
