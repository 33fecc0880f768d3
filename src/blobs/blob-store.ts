import { sha256Hex } from '../digest/sha256.ts';
import type { BlobRef } from '../events/schemas/values.ts';
import type { ObjectStore, StoredObject } from './object-store.ts';

/** Content-addressed storage for payloads over 64 KiB. The key is the SHA-256 of the bytes, so a second put changes nothing. */
export interface BlobStore {
  /** Stores bytes durably and returns their reference. */
  put(bytes: Uint8Array, mediaType: string): Promise<BlobRef>;
  /** Reads bytes back and checks them against their name. @throws BlobMissing, BlobCorrupt. */
  get(sha256: string): Promise<Uint8Array>;
  has(sha256: string): Promise<boolean>;
}

/** A store from which what no record refers to is deleted. */
export interface CollectableBlobs extends BlobStore {
  /** Deletes a blob that no process put within the last `graceMs`; returns whether it is gone. A missing one is gone. */
  remove(sha256: string, graceMs: number): Promise<boolean>;
  /** Lists all blobs by their SHA-256. Its content may be damaged: `get` detects it. */
  list(): AsyncIterable<StoredObject>;
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

/** Opens the blobs of a store of objects: each is `ab/cd/<sha256>`. @throws RangeError on a name that is no SHA-256 in lower-case hex. */
export function openBlobStore(objects: ObjectStore): CollectableBlobs {
  return {
    async put(bytes, mediaType): Promise<BlobRef> {
      const sha256 = sha256Hex(bytes);
      await objects.put(placeOfDigest(sha256), bytes, 'keep');
      return { blob: sha256, size: bytes.byteLength, mediaType };
    },
    async get(sha256) {
      const name = placeOfDigest(sha256);
      const bytes = await objects.get(name);
      const where = `${objects.place}/${name}`;
      if (bytes === undefined) throw new BlobMissing(`the blob ${sha256} is not in the store (${where})`);
      if (sha256Hex(bytes) === sha256) return bytes;
      throw new BlobCorrupt(`the blob ${sha256} has other content than its name says; restore ${where} from a copy`);
    },
    has: async (sha256) => (await objects.stat(placeOfDigest(sha256))) !== undefined,
    remove: async (sha256, graceMs) => objects.remove(placeOfDigest(sha256), graceMs),
    async *list() {
      for (const folder of FOLDERS)
        for await (const object of objects.list(folder)) {
          const sha256 = object.name.slice(-64);
          if (DIGEST.test(sha256) && object.name === placeOfDigest(sha256)) yield { ...object, name: sha256 };
        }
    },
  };
}

/** Other objects of the store are in folders of longer names. */
const FOLDERS: readonly string[] = Array.from({ length: 256 }, (_, i) => `${i.toString(16).padStart(2, '0')}/`);
const DIGEST = /^[0-9a-f]{64}$/;

/** Returns the name of an object that is named by a digest. @throws RangeError. */
export function placeOfDigest(sha256: string): string {
  if (!DIGEST.test(sha256)) throw new RangeError(`${JSON.stringify(sha256.slice(0, 80))} is no SHA-256 in lower-case hex`);
  return `${sha256.slice(0, 2)}/${sha256.slice(2, 4)}/${sha256}`;
}
