import { execFile } from 'node:child_process';
import { mkdir, statfs } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A folder on a file system of its own in memory, which can be made full and have room again. */
export interface SmallDisk {
  readonly folder: string;
  /** Leaves no room: whatever is written that needs a new block fails with ENOSPC. */
  fill(): Promise<void>;
  freeSpace(): Promise<void>;
  remove(): Promise<void>;
}
/** Why there is none: mounting is for root. */
export interface NoDisk {
  readonly reason: string;
}

const SIZE = '3g'; // of pages that are taken as they are written
const TRIES = 50; // what is written between the look and the cut moves the mark

/** Mounts an empty disk on a folder. */
export async function mountSmallDisk(folder: string): Promise<SmallDisk | NoDisk> {
  await mkdir(folder, { recursive: true });
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${SIZE},mode=0755`, 'espalier-chaos', folder]);
  } catch (error) {
    return { reason: `no disk can be mounted here (${reasonOf(error)})` };
  }
  const resize = (size: string) => run('mount', ['-o', `remount,size=${size}`, folder]);
  return {
    folder,
    async fill() {
      for (let tries = 1; ; tries++) {
        const { bsize, blocks, bfree } = await statfs(folder);
        try {
          return void (await resize(String((blocks - bfree) * bsize)));
        } catch (error) {
          if (tries === TRIES) throw error;
        }
      }
    },
    freeSpace: async () => void (await resize(SIZE)),
    remove: () => unmount(folder),
  };
}

/** Takes a disk away, if there is one. */
export async function unmount(folder: string): Promise<void> {
  await run('umount', ['--lazy', folder]).catch(() => undefined); // nothing is mounted there
}

function reasonOf(error: unknown): string {
  const said = typeof error === 'object' && error !== null && 'stderr' in error ? String(error.stderr) : String(error);
  return said.trim().split('\n').at(-1) ?? '';
}
