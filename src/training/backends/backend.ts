import type { RefusedOption } from '../../domain/training/method-options.ts';
import type { Method } from '../../events/schemas/training.ts';
import type { StepRow } from './step-row.ts';
import type { TrainingSettings } from './training-settings.ts';

/**
 * What turns batches into versions of a policy. A backend keeps nothing between calls: all it needs to go on is in the
 * checkpoint, so an update that was cut off is computed again from the same bytes. Who opens it closes it.
 */
export interface Backend {
  readonly name: string;
  /** Describes which computation this is (revisions, sizes), as plain JSON for the record. */
  describe(): Readonly<Record<string, unknown>>;
  /** Makes the checkpoint of version 0. Equal seeds give equal bytes. */
  initial(seed: number): Promise<Uint8Array>;
  /**
   * Trains on one batch. A deterministic backend answers equal inputs with equal bytes. Refuses, with the reason, what cannot be
   * trained on.
   */
  update(input: UpdateInput, signal: AbortSignal): Promise<Updated | RefusedOption>;
  /**
   * Returns the bytes whose SHA-256 names the weights of a version: what a policy loads, without the optimiser. @throws
   * CheckpointDamaged.
   */
  weightsOf(checkpoint: Uint8Array): Uint8Array;
  close(): Promise<void>;
}

export interface UpdateInput {
  readonly checkpoint: Uint8Array;
  /** The weights that a KL penalty holds to (those of version 0); null where there is none. */
  readonly reference: Uint8Array | null;
  readonly rows: readonly StepRow[];
  /** Whose weights the checkpoint holds. */
  readonly version: number;
  readonly settings: TrainingSettings;
  /** Fixes the order of the mini-batches. */
  readonly seed: number;
  /** `after`: also asks for what the new weights give to the sampled tokens; the linear backend returns none. */
  readonly logProbs?: 'after';
}

export interface Updated {
  readonly kind: 'updated';
  readonly checkpoint: Uint8Array;
  /** SHA-256 (hex) of `weightsOf(checkpoint)`. */
  readonly weights: string;
  /** Which computation it was. */
  readonly estimator: Method;
  readonly loss: Method;
  /** All finite. */
  readonly metrics: Readonly<Record<string, number>>;
  /** Log-probs of the sampled tokens of each row by the new weights, in the order of the input; where they were asked for. */
  readonly logProbs?: readonly ArrayLike<number>[];
}

/** The bytes are not a checkpoint of this backend, or not whole. */
export class CheckpointDamaged extends Error {
  override readonly name = 'CheckpointDamaged';
}
