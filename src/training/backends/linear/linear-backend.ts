import { sha256Hex } from '../../../digest/sha256.ts';
import { type Refused, refused } from '../../../domain/training/options.ts';
import { FEATURE_BUCKETS, FEATURE_REVISION } from '../../../policies/linear/features.ts';
import { STATE_BUCKETS } from '../../../policies/linear/state-features.ts';
import { decodeWeights } from '../../../policies/linear/weights.ts';
import type { Backend, Updated, UpdateInput } from '../backend.ts';
import { sortRows } from '../step-row.ts';
import { decisionsOf, featureCache } from './decisions.ts';
import { followGradient } from './follow-gradient.ts';
import { decodeCheckpoint, encodeCheckpoint, initialCheckpoint, weightsBytes } from './linear-checkpoint.ts';

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
): Promise<Updated | Refused> {
  const from = decodeCheckpoint(checkpoint);
  const broken = rows.find((row) => !Number.isFinite(row.reward));
  if (broken) return refused(`step ${broken.step} of rollout ${broken.rolloutId} has a reward that is not finite`);
  const { decisions, without } = decisionsOf(sortRows(rows));
  const [strange] = without;
  if (strange)
    return refused(
      `step ${strange.step} of rollout ${strange.rolloutId} was no choice among candidates; the linear policy learns only from those`,
    );
  if (decisions.length === 0) return refused('the batch has no step');
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
