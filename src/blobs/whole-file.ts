import { randomBytes } from 'node:crypto';
import { copyFile, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { makeFolder } from '../runtime/make-folder.ts';

/** Writes a file whole and durably: beside its place, then renamed. Folders are made. */
export async function writeWhole(path: string, write: (draft: string) => Promise<void>): Promise<void> {
  const parent = dirname(path);
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  const made = await makeFolder(parent);
  try {
    await write(draft);
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await sync(parent);
  // New folders are durable once their parents are synced: two levels at most, below the root of the store.
  if (made !== undefined) for (const above of [dirname(parent), dirname(dirname(parent))]) await sync(above);
}

/** Copies a file, which may be larger than the memory, whole and durably. */
export function copyWhole(from: string, path: string): Promise<void> {
  return writeWhole(path, async (draft) => {
    await copyFile(from, draft);
    await sync(draft);
  });
}

/** Writes a new file and waits until it is on disk. */
export async function writeSynced(path: string, bytes: Uint8Array, mode = 0o644): Promise<void> {
  const file = await open(path, 'wx', mode);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes a file durable, or the entries of a folder: a rename has a sync of its own. */
export async function sync(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'; // node:fs throws nothing else
}
