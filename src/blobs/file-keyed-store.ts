import { readFile, rm } from 'node:fs/promises';
import { isMissing, pathOf, writeWhole } from './file-blob-store.ts';

/**
 * Storage for what is derived from facts and named by what it was derived from: it may be lost, and whoever reads checks what
 * comes back.
 */
export interface KeyedStore {
  get(key: string): Promise<Uint8Array | undefined>;
  put(key: string, bytes: Uint8Array): Promise<void>;
  /** Deletes a value; one that is not there is deleted. */
  remove(key: string): Promise<void>;
}

/**
 * Opens a store in a folder that processes and runs share: each value is the file `ab/cd/<key>`, whole or absent. @throws
 * RangeError on a key that is no SHA-256.
 */
export function openFileKeyedStore(folder: string): KeyedStore {
  return {
    async get(key) {
      try {
        return await readFile(pathOf(folder, key));
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw error;
      }
    },
    put: (key, bytes) => writeWhole(pathOf(folder, key), bytes),
    remove: (key) => rm(pathOf(folder, key), { force: true }),
  };
}
