import { mkdtemp, readdir, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive } from '../../runtime/this-process.ts';

/** Names the run's folder to the workers. */
export const FOLDER = 'ESPALIER_TEST_FOLDER';
const MEMORY = '/dev/shm';
const ENOUGH = 4 * 1024 ** 3; // a full run on two workers holds at most 1 GB at a time

/**
 * Makes the folder that holds all temporary files of a test run, in memory where there is room: a copy of the template database
 * costs 25 ms of CPU there and up to 200 ms on a disk that others use. Removes those of runs that were killed.
 */
export async function makeRunFolder(): Promise<string> {
  const parent = (await hasRoom(MEMORY)) ? MEMORY : tmpdir();
  for (const name of await readdir(parent)) {
    const owner = /^espalier-tests-(\d+)-/.exec(name)?.[1];
    if (owner === undefined || isAlive(Number(owner))) continue;
    // not where another run removes it too, or one of its programs still ends
    await rm(join(parent, name), { recursive: true, force: true }).catch(() => undefined);
  }
  return mkdtemp(join(parent, `espalier-tests-${process.pid}-`));
}

async function hasRoom(folder: string): Promise<boolean> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize >= ENOUGH;
  } catch {
    return false; // not Linux
  }
}
