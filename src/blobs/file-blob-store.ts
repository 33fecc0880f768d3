import { randomBytes } from 'node:crypto';
import { access, mkdir, open, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sha256Hex } from '../digest/sha256.ts';
import type { BlobRef } from '../events/schemas/values.ts';
import { BlobCorrupt, BlobMissing, type BlobStore, type Deletes } from './blob-store.ts';

const NAME = /^[0-9a-f]{64}$/;

/**
 * Opens a blob store in a folder: each blob is the file `ab/cd/<sha256>`, whole or absent. A blob is written next to its place,
 * synced and renamed, so several processes may put the same one at once. @throws RangeError on a name that is no SHA-256 in
 * lower-case hex.
 */
export function openFileBlobStore(folder: string): BlobStore & Deletes {
  return {
    async put(bytes, mediaType): Promise<BlobRef> {
      const sha256 = sha256Hex(bytes);
      const path = pathOf(folder, sha256);
      if (await isThere(path)) await touch(path, bytes);
      else await writeWhole(path, bytes);
      return { blob: sha256, size: bytes.byteLength, mediaType };
    },
    async get(sha256) {
      const bytes = await read(pathOf(folder, sha256), sha256);
      if (sha256Hex(bytes) !== sha256) {
        throw new BlobCorrupt(
          `the blob ${sha256} has other content than its name says; restore ${pathOf(folder, sha256)} from a copy`,
        );
      }
      return bytes;
    },
    has: async (sha256) => isThere(pathOf(folder, sha256)),
    async remove(sha256, graceMs) {
      const path = pathOf(folder, sha256);
      try {
        if (Date.now() - (await stat(path)).mtimeMs < graceMs) return false;
        await rm(path);
      } catch (error) {
        if (!isMissing(error)) throw error;
      }
      return true;
    },
  };
}

/**
 * Notes that a blob was put again: who deletes what nobody refers to leaves it, since an event that names it may be on its way.
 * One that was deleted in this moment is written.
 */
async function touch(path: string, bytes: Uint8Array): Promise<void> {
  const now = new Date();
  try {
    await utimes(path, now, now);
  } catch (error) {
    if (!isMissing(error)) return; // a file of another user: a blob that is put again is only kept for longer
    await writeWhole(path, bytes);
  }
}

/** Lists the names of all blobs of a folder, in no order. A name may belong to damaged content: `get` detects it. */
export async function* listFileBlobs(folder: string): AsyncGenerator<string> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []))
    if (entry.isFile() && NAME.test(entry.name) && isPlaceOf(folder, entry.parentPath, entry.name)) yield entry.name;
}

/** Other stores may keep their files in folders next to the blobs'. */
function isPlaceOf(folder: string, parent: string, name: string): boolean {
  return join(parent, name) === pathOf(folder, name);
}

/** Returns the place of a name. The check is also what keeps a path from leaving the folder. */
export function pathOf(folder: string, sha256: string): string {
  if (!NAME.test(sha256)) throw new RangeError(`${JSON.stringify(sha256.slice(0, 80))} is no SHA-256 in lower-case hex`);
  return join(folder, sha256.slice(0, 2), sha256.slice(2, 4), sha256);
}

/** Writes a file whole and durably: next to its place, synced, then renamed. Folders are made. */
export async function writeWhole(path: string, bytes: Uint8Array): Promise<void> {
  const parent = dirname(path);
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  const made = await mkdir(parent, { recursive: true });
  try {
    const file = await open(draft, 'wx', 0o644);
    try {
      await file.writeFile(bytes);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await syncFolder(parent);
  // New folders are durable once their parents are synced: two levels at most, below the root of the store.
  if (made !== undefined) for (const above of [dirname(parent), dirname(dirname(parent))]) await syncFolder(above);
}

/** Makes a rename durable: it is an entry of the folder, which has a sync of its own. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function read(path: string, sha256: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (error) {
    if (isMissing(error)) throw new BlobMissing(`the blob ${sha256} is not in the store (${path})`, { cause: error });
    throw error;
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'; // node:fs throws nothing else
}
