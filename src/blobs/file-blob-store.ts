import { randomBytes } from 'node:crypto';
import { access, mkdir, open, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
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
    async has(sha256) {
      const path = pathOf(folder, sha256);
      return (await isThere(path)) || (await findAside(path)) !== undefined;
    },
    async remove(sha256, graceMs) {
      const path = pathOf(folder, sha256);
      const aside = `${path}.${randomBytes(6).toString('hex')}${ASIDE}`;
      const isYoung = async (at: string) => Date.now() - (await stat(at)).mtimeMs < graceMs;
      try {
        if (await isYoung(path)) return false;
        // Whoever puts it from here on finds it missing and writes it. Who put it between the look and this shows in its time.
        await rename(path, aside);
        if (await isYoung(aside)) {
          await rename(aside, path);
          return false;
        }
        await rm(aside);
      } catch (error) {
        if (!isMissing(error)) throw error;
        // What a killed removal left aside is the blob still. Who puts one back from there now does so since it is young.
        const left = await findAside(path);
        if (left !== undefined && !(await isYoung(left).catch(() => true))) await rm(left, { force: true });
      }
      return !(await isThere(path)) && (await findAside(path)) === undefined;
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

const ASIDE = '.removing';

/** Finds what a process that was stopped or killed was about to delete: it is the blob until it is gone. */
async function findAside(path: string): Promise<string | undefined> {
  const names = await readdir(dirname(path)).catch(() => []);
  const found = names.find((name) => name.startsWith(basename(path)) && name.endsWith(ASIDE));
  return found === undefined ? undefined : join(dirname(path), found);
}

/** A file of a blob store that nobody wrote for a time. */
export interface OldFile {
  readonly name: string;
  readonly bytes: number;
}

/**
 * Lists the blobs of a folder that nobody put within `graceMs`, in no order, and what puts that were killed left there. Puts back
 * what a killed removal left aside.
 */
export async function listOldFiles(
  folder: string,
  graceMs: number,
): Promise<{ readonly blobs: readonly OldFile[]; readonly drafts: readonly OldFile[]; readonly young: number }> {
  const [blobs, drafts]: [OldFile[], OldFile[]] = [[], []];
  let young = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])) {
    const [sha256 = '', ...more] = entry.name.split('.');
    if (!entry.isFile() || !NAME.test(sha256) || !isPlaceOf(folder, entry.parentPath, sha256)) continue;
    let at = join(entry.parentPath, entry.name);
    try {
      if (entry.name.endsWith(ASIDE)) {
        await rename(at, pathOf(folder, sha256));
        at = pathOf(folder, sha256);
      }
      const { mtimeMs, size } = await stat(at);
      const isDraft = more.length > 0 && !entry.name.endsWith(ASIDE);
      if (Date.now() - mtimeMs < graceMs) young++;
      else (isDraft ? drafts : blobs).push({ name: isDraft ? at : sha256, bytes: size });
    } catch (error) {
      if (!isMissing(error)) throw error; // it went meanwhile
    }
  }
  return { blobs, drafts, young };
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
export async function writeWhole(path: string, bytes: Uint8Array, mode = 0o644): Promise<void> {
  const parent = dirname(path);
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  const made = await mkdir(parent, { recursive: true });
  try {
    const file = await open(draft, 'wx', mode);
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
    if (!isMissing(error)) throw error;
    const aside = await findAside(path);
    const bytes = aside === undefined ? undefined : await readFile(aside).catch(() => undefined);
    if (bytes !== undefined) return bytes;
    return readFile(path).catch(() => {
      throw new BlobMissing(`the blob ${sha256} is not in the store (${path})`, { cause: error }); // nor put back meanwhile
    });
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
