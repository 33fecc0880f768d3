import { setImmediate as breathe } from 'node:timers/promises';
import { sha256Hex } from '../../../digest/sha256.ts';
import { createRandom } from '../../../domain/random/random.ts';
import { configureEstimator } from '../../../domain/training/advantages/estimators.ts';
import { planTrajectoryBatches } from '../../../domain/training/batching/trajectory-batches.ts';
import { findMismatch, measureMismatch } from '../../../domain/training/correction/mismatch.ts';
import { actorLoss } from '../../../domain/training/losses/actor-loss.ts';
import { type ConfiguredPolicyLoss, TOKEN_MEAN } from '../../../domain/training/losses/policy-loss.ts';
import { configurePolicyLoss } from '../../../domain/training/losses/policy-losses.ts';
import { type RefusedOption, refuseOption } from '../../../domain/training/method-options.ts';
import { at, type Rows, rowAt } from '../../../domain/training/rows/rows.ts';
import type { Method } from '../../../events/schemas/training.ts';
import { FEATURE_BUCKETS, FEATURE_REVISION, type FeatureVector } from '../../../policies/linear/features.ts';
import { STATE_BUCKETS } from '../../../policies/linear/state-features.ts';
import { decodeWeights } from '../../../policies/linear/weights.ts';
import type { Backend, Updated, UpdateInput } from '../backend.ts';
import { sortRows, trajectoryOf } from '../step-row.ts';
import type { TrainingSettings } from '../training-settings.ts';
import { fitCritic } from './critic.ts';
import { addGradient, choiceAt, type Decision, decisionsOf, featureCache } from './decisions.ts';
import {
  decodeCheckpoint,
  encodeCheckpoint,
  initialCheckpoint,
  type LinearCheckpoint,
  takeStep,
  weightsBytes,
} from './linear-checkpoint.ts';
import { type PreparedBatch, prepareBatch } from './prepare-batch.ts';

/** Raised when the same batch yields other weights. */
const REVISION = '2'; // 1 divided sums of rows by the longest trained span, and small weights by their mean

/**
 * Trains the linear softmax policy in this process by policy gradients with any estimator and loss of the registries, with a
 * linear critic if the estimator needs values. Deterministic: equal checkpoint, rows, settings and seed give equal bytes, in
 * whatever order the rows come.
 */
export function linearBackend(): Backend {
  return {
    name: 'linear',
    describe: () => ({
      revision: REVISION,
      featureRevision: FEATURE_REVISION,
      features: FEATURE_BUCKETS,
      criticFeatures: STATE_BUCKETS,
    }),
    initial: async () => encodeCheckpoint(initialCheckpoint()), // nothing is drawn: zero weights are the uniform policy
    update: async (input, signal) => update(input, signal),
    weightsOf: weightsBytes,
    close: async () => undefined,
  };
}

async function update(
  { checkpoint, reference, rows, settings, version, seed }: UpdateInput,
  signal: AbortSignal,
): Promise<Updated | RefusedOption> {
  const from = decodeCheckpoint(checkpoint);
  const broken = rows.find((row) => !Number.isFinite(row.reward));
  if (broken) return refuseOption(`step ${broken.step} of rollout ${broken.rolloutId} has a reward that is not finite`);
  const { decisions, without } = decisionsOf(sortRows(rows));
  const [strange] = without;
  if (strange)
    return refuseOption(
      `step ${strange.step} of rollout ${strange.rolloutId} was no choice among candidates; the linear policy learns only from those`,
    );
  if (decisions.length === 0) return refuseOption('the batch has no step');
  const learned = await followGradient({
    from,
    decisions,
    settings,
    version,
    seed,
    signal,
    reference: reference && decodeWeights(reference).values,
    featuresOf: featureCache(),
  });
  if (learned.kind === 'refused') return learned;
  const bytes = encodeCheckpoint({ ...learned.after, policy: { ...learned.after.policy, version: from.policy.version + 1 } });
  const { estimator, loss, metrics } = learned;
  const weights = sha256Hex(weightsBytes(bytes));
  return { kind: 'updated', checkpoint: bytes, weights, estimator, loss, metrics };
}

interface GradientProblem {
  readonly from: LinearCheckpoint;
  /** In the order in which sums are taken. */
  readonly decisions: readonly Decision[];
  readonly settings: TrainingSettings;
  /** Whose weights `from` are. */
  readonly version: number;
  /** The weights that a KL penalty holds to. */
  readonly reference: Float64Array | null;
  readonly seed: number;
  readonly signal: AbortSignal;
  readonly featuresOf: (decision: Decision) => readonly FeatureVector[];
}

export interface GradientResult {
  readonly kind: 'learned';
  readonly after: LinearCheckpoint;
  readonly estimator: Method;
  readonly loss: Method;
  readonly metrics: Readonly<Record<string, number>>;
}

/**
 * Updates policy and critic on one batch: advantages once, by the weights of the start; then epochs of mini-batches of whole
 * trajectories in a seeded order.
 */
async function followGradient(lesson: GradientProblem): Promise<GradientResult | RefusedOption> {
  const { from, settings, seed } = lesson;
  const { objective } = settings;
  const estimator = configureEstimator(objective.estimator.name, objective.estimator.options);
  if (estimator.kind === 'refused') return estimator;
  const policyLoss = configurePolicyLoss(objective.loss.name, objective.loss.options);
  if (policyLoss.kind === 'refused') return policyLoss;

  const prepared = prepareBatch(estimator.estimator, { ...lesson, from: () => from });
  if (prepared.kind === 'refused') return prepared;
  const { returns, valued } = prepared;
  const mismatch = mismatchOf(lesson, prepared);
  const beyond = findMismatch(mismatch, settings.mismatch);
  if (beyond?.kind === 'stop') return refuseOption(beyond.reason);
  if (!prepared.masks.some((mask) => mask.includes(1)))
    return refuseOption('the correction of rollouts rejects every step of the batch; widen its bounds');
  const actor = await updateActor(lesson, policyLoss.policyLoss, prepared);
  if (actor.kind === 'refused') return actor;
  const targets = Float64Array.from(returns, (row) => at(row, 0));
  const critic = valued && fitCritic(from, valued, targets, settings, seed);
  return {
    kind: 'learned',
    after: {
      policy: { ...from.policy, values: actor.values },
      policyMoments: actor.moments,
      critic: critic?.critic ?? from.critic,
      criticMoments: critic?.criticMoments ?? from.criticMoments,
      klCoefficient: prepared.klCoefficient,
    },
    estimator: recorded(estimator.estimator),
    loss: recorded(policyLoss.policyLoss),
    metrics: {
      ...actor.metrics,
      ...mismatch,
      ...prepared.metrics,
      ...(critic ? { valueLoss: critic.loss, criticSkipped: critic.skipped } : {}),
    },
  };
}

function mismatchOf({ decisions, version }: GradientProblem, prepared: PreparedBatch): Readonly<Record<string, number>> {
  const trainer = prepared.choices().map(({ logProb }) => Float64Array.of(logProb));
  const recorded = decisions.map(({ row: { tokens } }) => (tokens?.logProbs?.length === 1 ? tokens.logProbs : null));
  return measureMismatch({ trainer, recorded, versions: decisions.map(({ row }) => row.version) }, version);
}

async function updateActor(lesson: GradientProblem, policyLoss: ConfiguredPolicyLoss, prepared: PreparedBatch) {
  const { from, decisions, settings, reference, seed, signal, featuresOf } = lesson;
  const { advantages, masks, weights } = prepared;
  const old = prepared.choices();
  const kl = settings.kl?.in === 'reward' ? null : settings.kl; // in the reward it is no part of the loss
  const aggregation = {
    ...TOKEN_MEAN,
    mode: settings.aggregation ?? TOKEN_MEAN.mode,
    lossScale: settings.lossScale ?? TOKEN_MEAN.lossScale,
  };
  let [values, moments] = [from.policy.values, from.policyMoments];
  const sums = new Map<string, number>();
  const count = (name: string, value: number) => sums.set(name, (sums.get(name) ?? 0) + value);
  let [steps, skipped] = [0, 0];
  const trajectories = [...new Set(decisions.map(({ row }) => trajectoryOf(row)))];
  for (let epoch = 0; epoch < settings.epochs; epoch++) {
    const order = createRandom(seed).fork(epoch).shuffle(trajectories);
    for (const chosen of miniBatches(decisions, order, settings.miniBatch)) {
      await breathe(); // leases are renewed and others served between mini-batches
      signal.throwIfAborted();
      const trained = chosen.map((i) => rowAt(masks, i));
      if (!trained.some((mask) => mask.includes(1))) continue; // all of it is rejected: there is nothing to step by
      const part = chosen.map((i) => rowAt(decisions, i));
      const now = part.map((decision) => choiceAt(values, featuresOf(decision), decision));
      const column = (value: (k: number, i: number) => number): Rows => chosen.map((i, k) => Float64Array.of(value(k, i)));
      const loss = actorLoss(
        policyLoss,
        {
          logProbs: column((k) => rowAt(now, k).logProb),
          oldLogProbs: column((_, i) => rowAt(old, i).logProb),
          advantages: column((_, i) => at(rowAt(advantages, i), 0)),
          masks: trained,
          weights: weights && chosen.map((i) => rowAt(weights, i)),
        },
        {
          entropies: column((k) => rowAt(now, k).entropy),
          entropyCoefficient: settings.entropyCoefficient,
          kl: kl &&
            reference && {
              ...kl,
              refLogProbs: part.map((each) => Float64Array.of(choiceAt(reference, featuresOf(each), each).logProb)),
            },
        },
        aggregation,
      );
      if (loss.kind === 'refused') return loss;
      const gradient = new Float64Array(values.length);
      for (const [k, decision] of part.entries()) {
        const [slope, entropySlope] = [at(rowAt(loss.gradient, k), 0), at(rowAt(loss.entropyGradient, k), 0)];
        addGradient(gradient, featuresOf(decision), decision, rowAt(now, k), slope, entropySlope);
      }
      const step = takeStep(values, moments, gradient, settings);
      [values, moments] = [step.values, step.moments];
      steps++;
      if (step.kind === 'skipped') skipped++;
      else count('gradientNorm', step.norm);
      count('loss', loss.loss);
      for (const [name, value] of Object.entries(loss.metrics)) count(name, value);
    }
  }
  const means = Object.fromEntries(
    [...sums].map(([name, sum]) => [name, sum / steps]).filter(([, mean]) => Number.isFinite(mean)),
  );
  return { kind: 'moved' as const, values, moments, metrics: { ...means, steps, skippedSteps: skipped } };
}

/** Returns the positions of each mini-batch's steps: whole trajectories, in the given order. */
function miniBatches(
  decisions: readonly Decision[],
  order: readonly string[],
  miniBatchSize: number,
): readonly (readonly number[])[] {
  const place = new Map(order.map((trajectory, i) => [trajectory, i]));
  const rank = (i: number): number => place.get(trajectoryOf(rowAt(decisions, i).row)) ?? 0;
  const positions = [...decisions.keys()].sort((a, b) => rank(a) - rank(b) || a - b);
  const trajectories = positions.map((i) => trajectoryOf(rowAt(decisions, i).row));
  const plan = planTrajectoryBatches(trajectories, new Uint8Array(positions.length).fill(1), { miniBatchSize, ranks: 1 });
  return plan.miniBatches.map((_, miniBatch) =>
    rowAt(plan.ranks, 0).flatMap((row) =>
      row.miniBatch === miniBatch && row.sample === 'real' ? [at(positions, row.sourceRow)] : [],
    ),
  );
}

function recorded({ name, revision, mode }: Method): Method {
  return { name, revision, mode };
}
