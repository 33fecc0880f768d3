import { join } from 'node:path';
import { z } from 'zod';
import { type Backend, CheckpointDamaged } from '../backend.ts';

const digest = z.string().regex(/^[0-9a-f]{64}$/);

/** What a checkpoint of the torch backend says: the folder that holds its files, by name, and the digests of what is in them. */
const torchCheckpoint = z.strictObject({
  format: z.literal('espalier-torch/1'),
  /** The folder's name, derived from all that follows. */
  checkpoint: digest,
  /** SHA-256 of the model's tensors. */
  weights: digest,
  /** SHA-256 of the tensors of optimiser and critic. */
  rest: digest,
  steps: z.int().min(0),
  /** The coefficient that an adaptive KL penalty begins the next update with; left out where there is none. */
  klCoefficient: z.number().optional(),
});
export type TorchCheckpoint = z.infer<typeof torchCheckpoint>;

/** Checks what the training process says of a checkpoint. @throws CheckpointDamaged. */
export function parseTorchCheckpoint(value: unknown): TorchCheckpoint {
  const parsed = torchCheckpoint.safeParse(value);
  if (!parsed.success)
    throw new CheckpointDamaged(`this is no checkpoint of the torch backend: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
}

/**
 * Writes the manifest: a large model stays in its files, and a digest of this is a digest of them. Equal checkpoints are equal
 * bytes.
 */
export function encodeTorchCheckpoint(manifest: TorchCheckpoint): Uint8Array {
  const { checkpoint, format, klCoefficient, rest, steps, weights } = manifest;
  return new TextEncoder().encode(JSON.stringify({ checkpoint, format, klCoefficient, rest, steps, weights }));
}

/** Reads a manifest. @throws CheckpointDamaged. */
export function decodeTorchCheckpoint(bytes: Uint8Array): TorchCheckpoint {
  try {
    return parseTorchCheckpoint(JSON.parse(new TextDecoder().decode(bytes)));
  } catch (error) {
    if (error instanceof CheckpointDamaged) throw error;
    throw new CheckpointDamaged('this is no checkpoint of the torch backend', { cause: error });
  }
}

/** Returns the folder that a model server loads a checkpoint from. */
export function checkpointFolder(folder: string, { checkpoint }: TorchCheckpoint): string {
  return join(folder, checkpoint);
}

/** What reads which weights a manifest stands for; it takes no torch. */
export const torchManifests: Pick<Backend, 'name' | 'weightsOf'> = {
  name: 'torch',
  weightsOf: (bytes) => encodeTorchCheckpoint(decodeTorchCheckpoint(bytes)),
};
