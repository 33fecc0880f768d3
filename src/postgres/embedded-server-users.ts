import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { chown, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Account } from './embedded-server-account.ts';
import { isAlive } from './embedded-server-folder.ts';

/** The named pipe of the users, in the folder of `openUsers`; the guard reads it. */
export const PIPE = 'attached';

/**
 * The users of the server of one folder. Each holds the write end of one named pipe open, which the kernel closes for a process
 * that ends in any way; the guard of the server reads the pipe, and its end of file says that the last user has left. The pipe is
 * made once and stays.
 */
export interface ServerUsers {
  readonly folder: string;
  /** Opens the write end: from now on this process counts as a user. False when no guard reads. */
  enter(): boolean;
  /**
   * Asks the guard of this postmaster to count this process. Only its answer makes a user: a guard that has seen the end of file
   * answers nobody any more, so a server is never used that is about to stop.
   */
  join(postmaster: number): Promise<'joined' | 'unguarded' | 'unanswered'>;
  /** Closes the write end. */
  leave(): Promise<void>;
  /** Returns whether anyone is a user now. */
  anyone(): boolean;
  /** Returns whether a guard reads the pipe. */
  guarded(): boolean;
}

/** Opens the register of users of a folder, making it when there is none. It belongs to the account that the guard runs as. */
export async function openUsers(serverFolder: string, account: Account): Promise<ServerUsers> {
  const folder = join(serverFolder, 'users');
  const pipe = join(folder, PIPE);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (account.ids) await chown(folder, account.ids.uid, account.ids.gid);
  await makePipe(pipe, account);
  await removeAbandoned(folder);
  const arrival = `arrival.${process.pid}.${randomBytes(6).toString('hex')}`;
  let end: number | undefined;
  let asked: number | undefined;
  // a late answer of another guard is not taken for this one's
  const request = (postmaster: number) => `${arrival}.${postmaster}`;

  function enter(): boolean {
    end ??= openEnd(pipe, constants.O_WRONLY);
    return end !== undefined;
  }
  function close(): void {
    if (end !== undefined) closeSync(end);
    end = undefined;
  }
  async function withdraw(): Promise<void> {
    if (asked !== undefined) await rm(join(folder, request(asked)), { force: true });
    asked = undefined;
  }
  return {
    folder,
    enter,
    async join(postmaster) {
      if (!enter()) return 'unguarded';
      const file = join(folder, request(postmaster));
      if (asked !== postmaster) {
        await withdraw();
        await writeFile(file, '', { mode: 0o600 }); // the guard answers by removing it, which works on a full disk too
        asked = postmaster;
      }
      if (!write(end as number, `${postmaster} ${request(postmaster)}\n`)) {
        close();
        return 'unguarded';
      }
      for (let look = 0; look < ANSWER_LOOKS; look++) {
        if (!(await exists(file))) {
          asked = undefined;
          return 'joined';
        }
        await delay(1);
      }
      return 'unanswered';
    },
    async leave() {
      close();
      await withdraw();
    },
    anyone() {
      const reader = openEnd(pipe, constants.O_RDONLY);
      try {
        // What is read here belongs to an arrival, which asks again and holds the pipe open, or to one that has gone since.
        while (reader !== undefined && readSync(reader, Buffer.alloc(4_096)) > 0);
        return false;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return true; // open, and silent
        throw error;
      } finally {
        if (reader !== undefined) closeSync(reader);
      }
    },
    guarded() {
      const writer = openEnd(pipe, constants.O_WRONLY);
      if (writer !== undefined) closeSync(writer);
      return writer !== undefined;
    },
  };
}

const ANSWER_LOOKS = 20; // a guard answers within some milliseconds, one that is starting when its starter has entered

async function makePipe(pipe: string, account: Account): Promise<void> {
  if (await exists(pipe)) return;
  const { command, args, options } = account.wrap('mkfifo', ['-m', '600', pipe]);
  await promisify(execFile)(command, args, options).catch(async (error: unknown) => {
    if (!(await exists(pipe))) throw error; // made by another process at the same moment
  });
}

/** Removes the requests of processes that were killed before they were answered. */
async function removeAbandoned(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const pid = /^arrival\.(\d+)\./.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) await rm(join(folder, name), { force: true });
  }
}

/** Opens an end of the pipe without waiting for the other one. Undefined where nobody reads what would be written. */
function openEnd(pipe: string, mode: number): number | undefined {
  try {
    return openSync(pipe, mode | constants.O_NONBLOCK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENXIO') return undefined;
    throw error;
  }
}

/** Writes a line; false when nobody reads any more. A pipe that is full holds this line already. */
function write(end: number, line: string): boolean {
  try {
    writeSync(end, line);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EPIPE') return false;
    if (code === 'EAGAIN') return true;
    throw error;
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
