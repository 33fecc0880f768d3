import { placeOfDigest } from './blob-store.ts';
import type { ObjectStore } from './object-store.ts';

/**
 * Storage for what is derived from facts and named by what it was derived from: it may be lost, and readers check what they
 * get.
 */
export interface KeyedStore {
  get(key: string): Promise<Uint8Array | undefined>;
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** Deletes a value; a missing one is deleted. */
  remove(key: string): Promise<void>;
}

/** Opens a folder of a store: each value is `folder/ab/cd/<key>`. @throws RangeError on a key that is no SHA-256. */
export function openKeyedStore(objects: ObjectStore, folder: string): KeyedStore {
  const nameOf = (key: string) => `${folder}/${placeOfDigest(key)}`;
  return {
    get: async (key) => objects.get(nameOf(key)),
    put: async (key, bytes) => objects.put(nameOf(key), bytes, 'replace'),
    remove: async (key) => void (await objects.remove(nameOf(key), 0)),
  };
}
