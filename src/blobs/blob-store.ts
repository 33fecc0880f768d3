import type { BlobRef } from '../events/schemas/values.ts';

/** Content-addressed storage for payloads over 64 KiB. The key is the SHA-256 of the bytes, so a second put changes nothing. */
export interface BlobStore {
  /** Stores bytes durably and returns their reference. */
  put(bytes: Uint8Array, mediaType: string): Promise<BlobRef>;
  /** Reads bytes back and checks them against their name. @throws BlobMissing, BlobCorrupt. */
  get(sha256: string): Promise<Uint8Array>;
  has(sha256: string): Promise<boolean>;
}

/** A store from which what nobody refers to is deleted. */
export interface Deletes {
  /** Deletes a blob that nobody put within the last `graceMs`; returns whether it is gone. One that is not there is gone. */
  remove(sha256: string, graceMs: number): Promise<boolean>;
}

export class BlobMissing extends Error {
  override readonly name = 'BlobMissing';
}
export class BlobCorrupt extends Error {
  override readonly name = 'BlobCorrupt';
}

/** Returns whether what was thrown says that a blob is lost: gone, or changed. Whoever reads many goes on with the others. */
export function isLostBlob(error: unknown): error is BlobMissing | BlobCorrupt {
  return error instanceof BlobMissing || error instanceof BlobCorrupt;
}
