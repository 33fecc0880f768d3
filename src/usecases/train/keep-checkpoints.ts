import { readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Platform } from '../../platform/open-platform.ts';
import { decodeTorchCheckpoint } from '../../training/backends/torch/torch-checkpoint.ts';
import { torchFolder } from '../../training/backends/torch/torch-plan.ts';
import { readTorchVersions } from '../../training/backends/torch/torch-versions.ts';

const REMOVED = '.removed-';
const PARTIAL = '.partial-';
const ABANDONED_MS = 86_400_000; // no checkpoint takes a day to write: what is older was left by a process that was killed

/**
 * Makes what removes the torch checkpoints that nobody needs any more, from the folder of this machine: those that
 * `readTorchVersions` names as needed stay. The record keeps all versions, their digests included; only their files go. A folder is renamed before
 * it is deleted, so who is killed leaves a whole checkpoint or none, and the next call takes what is left over. A folder that the
 * read models do not know yet stays. Returns the names of what it removed. @throws Error when a manifest that must stay cannot be
 * read: then nothing goes.
 */
export function checkpointKeeper(platform: Platform): () => Promise<readonly string[]> {
  const folders = new Map<string, string>(); // blob of a manifest → the folder it names, which never changes
  return async () => {
    const folder = torchFolder(platform.config);
    const there = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    await sweep(folder, there);
    const versions = await readTorchVersions(platform.database.db, platform.config.torchCheckpoints);
    const [kept, old] = [new Set<string>(), new Set<string>()];
    for (const { blob, stays } of versions) {
      const name = folders.get(blob) ?? decodeTorchCheckpoint(await platform.blobs.get(blob)).checkpoint;
      folders.set(blob, name);
      (stays ? kept : old).add(name);
    }
    // an update that moved nothing shares a folder with the version before it
    const removed = there.filter((name) => old.has(name) && !kept.has(name));
    for (const name of removed) {
      await rename(join(folder, name), join(folder, REMOVED + name)).catch(ignoreMissing);
      await rm(join(folder, REMOVED + name), { recursive: true, force: true });
    }
    return removed;
  };
}

/** Deletes what a killed process left: folders on their way out, and half-written ones that nobody writes any more. */
async function sweep(folder: string, there: readonly string[]): Promise<void> {
  for (const name of there) {
    const path = join(folder, name);
    const age = name.startsWith(PARTIAL) ? Date.now() - ((await stat(path).catch(() => null))?.mtimeMs ?? Date.now()) : 0;
    if (name.startsWith(REMOVED) || age > ABANDONED_MS) await rm(path, { recursive: true, force: true });
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error; // another process removed it meanwhile
}
