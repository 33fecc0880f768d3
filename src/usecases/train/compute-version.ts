import { seedFrom } from '../../domain/random/seed-from.ts';
import type { Method } from '../../events/schemas/training.ts';
import type { Backend, Updated, UpdateInput } from '../../training/backends/backend.ts';
import type { StepRow } from '../../training/backends/step-row.ts';
import type { TrainingSettings } from '../../training/backends/training-settings.ts';
import type { PlannedBatch } from '../../training/leases/protocol.ts';

export interface VersionInput {
  readonly policyId: string;
  readonly backend: Backend;
  readonly settings: TrainingSettings;
  readonly batch: Pick<PlannedBatch, 'ordinal' | 'seed' | 'estimator'>;
  /** The version before, and its checkpoint. */
  readonly version: number;
  readonly checkpoint: Uint8Array;
  readonly rows: readonly StepRow[];
  /** As `UpdateInput` has it. */
  readonly logProbs?: UpdateInput['logProbs'];
}

/** A backend that cannot train on a batch, with its reason. */
export class UpdateRefused extends Error {
  override readonly name = 'UpdateRefused';
}

/**
 * Computes the version that a batch makes of the one before: all that the bytes follow from besides the code is in the arguments,
 * so a trainer and a replay of its work come to the same. @throws UpdateRefused.
 */
export async function computeVersion(input: VersionInput, signal: AbortSignal): Promise<Updated> {
  const { backend, policyId, settings, batch, version, checkpoint, rows, logProbs } = input;
  const reference = settings.kl && backend.weightsOf(await backend.initial(seedFrom('initial', policyId)));
  const seed = seedFrom('update', batch.seed, batch.ordinal);
  const updated = await backend.update(
    {
      checkpoint,
      reference,
      rows,
      version,
      settings: withEstimator(settings, batch.estimator),
      seed,
      ...(logProbs === undefined ? {} : { logProbs }),
    },
    signal,
  );
  if (updated.kind === 'refused') throw new UpdateRefused(updated.reason);
  return { ...updated, metrics: { ...updated.metrics, ...returnsOf(rows) } };
}

/**
 * The batch was chosen for an estimator (its readiness, its groups): that one computes, whatever else the settings were made
 * with.
 */
function withEstimator(settings: TrainingSettings, { name, mode }: Method): TrainingSettings {
  const { objective } = settings;
  // a recorded mode is what `chooseOptions` wrote, and is checked again by `configure`
  const options = (mode ?? {}) as Record<string, string | number>;
  return { ...settings, objective: { ...objective, estimator: { name, options } } };
}

/** Mean return and share of rollouts with a return above 0: what the batch was worth before it was learned from. */
function returnsOf(rows: readonly StepRow[]): Readonly<Record<string, number>> {
  const returns = new Map<string, number>();
  for (const { rolloutId, reward } of rows) returns.set(rolloutId, (returns.get(rolloutId) ?? 0) + reward);
  const all = [...returns.values()];
  const oldest = rows.reduce((least, { version }) => Math.min(least, version), Number.POSITIVE_INFINITY);
  return {
    return: all.reduce((sum, value) => sum + value, 0) / Math.max(1, all.length),
    rewarded: all.filter((value) => value > 0).length / Math.max(1, all.length),
    ...(Number.isFinite(oldest) ? { oldestVersion: oldest } : {}),
  };
}
