import type { BlobStore } from '../../blobs/blob-store.ts';
import { sha256Hex } from '../../digest/sha256.ts';
import { derivedId } from '../../events/derived-id.ts';
import type { BlobRef } from '../../events/schemas/values.ts';
import { type Backend, CheckpointDamaged } from '../backends/backend.ts';
import type { Head } from '../leases/protocol.ts';

/** Returns the id of the checkpoint of a version: the same weights made again are the same checkpoint. */
export function checkpointIdOf(lineageId: string, version: number, weights: string): string {
  return derivedId('checkpoint', lineageId, version, weights);
}

const MEDIA_TYPE = 'application/vnd.espalier.checkpoint';

/**
 * Keeps a checkpoint, weights and optimiser, whole or not at all, under the digest of its bytes: the same one again changes
 * nothing.
 */
export function keepCheckpoint(blobs: BlobStore, bytes: Uint8Array): Promise<BlobRef> {
  return blobs.put(bytes, MEDIA_TYPE);
}

/**
 * Reads the checkpoint that a version lies in, and makes sure that it holds the weights that the record names. @throws
 * CheckpointDamaged that names the checkpoint when it is kept elsewhere, missing, damaged, or holds other weights: nothing may be
 * trained from it.
 */
export async function readCheckpoint(
  blobs: Pick<BlobStore, 'get'>,
  backend: Pick<Backend, 'name' | 'weightsOf'>,
  head: Head,
): Promise<Uint8Array> {
  const what = `checkpoint ${head.checkpointId} of version ${head.version}`;
  if (head.backend !== backend.name)
    throw new CheckpointDamaged(`${what} was made by the backend ${head.backend}, not ${backend.name}: train on with that one`);
  if (head.kept === null) throw new CheckpointDamaged(`${what} is not kept here: train on where it was made`);
  let bytes: Uint8Array;
  let weights: string;
  try {
    bytes = await blobs.get(head.kept.blob);
    weights = sha256Hex(backend.weightsOf(bytes));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new CheckpointDamaged(`${what} (blob ${head.kept.blob}) cannot be used: ${why}; put its file back from a copy`, {
      cause,
    });
  }
  if (weights !== head.weights)
    throw new CheckpointDamaged(
      `${what} holds weights ${weights}, the record says ${head.weights}; put its file back from a copy`,
    );
  return bytes;
}
