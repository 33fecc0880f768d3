import { once } from 'node:events';
import { link, rm, writeFile } from 'node:fs/promises';
import { createConnection, type Socket } from 'node:net';
import { join } from 'node:path';
import { sha256Hex } from '../digest/sha256.ts';
import { readIfPresent } from './embedded-server-folder.ts';
import { commandOf } from './embedded-server-postmaster.ts';

/** The file `supervisor` of a folder (0600): the lock of its supervisor, and where that receives users. */
export interface Supervisor {
  readonly pid: number;
  /** On 127.0.0.1. A client is greeted, sends the token, and is told the port of Postgres when that is ready. */
  readonly port: number;
  readonly token: string;
}

/** The program of a supervisor; its first argument is the folder. */
export const SUPERVISOR = 'workers/postgres.ts';

/** Returns the line by which a supervisor shows that it is the one of a lock file, and not another program at its port. */
export function greetingOf(token: string): string {
  return `espalier supervisor ${sha256Hex(token)}\n`;
}

const NOBODY: Supervisor = { pid: 0, port: 0, token: '' };

/** Returns what the lock file says, of a supervisor that runs or was killed; `NOBODY` where a crash of the machine emptied it. */
export async function readSupervisor(folder: string): Promise<Supervisor | undefined> {
  const text = await readIfPresent(fileOf(folder));
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as Supervisor; // written whole by `lockFolder`
  } catch {
    return NOBODY;
  }
}

const ANSWER_MS = 3_000; // it answers within milliseconds; one that is frozen never

/** Connects to a supervisor; undefined where it does not answer. */
export async function callSupervisor({ port, token }: Supervisor): Promise<Socket | undefined> {
  if (port === 0) return undefined;
  const socket = createConnection({ host: '127.0.0.1', port }).on('error', () => undefined);
  try {
    const [greeting] = await once(socket, 'data', { signal: AbortSignal.timeout(ANSWER_MS) });
    if (String(greeting) === greetingOf(token)) return socket;
  } catch {
    // refused or silent
  }
  socket.destroy();
  return undefined;
}

/**
 * Makes this process the supervisor of a folder, unless another one answers. One that is frozen is killed. Of two that replace a
 * killed one at the same moment the second may take the lock of the first: a supervisor looks at its lock again and again.
 */
export async function lockFolder(folder: string, own: Supervisor): Promise<boolean> {
  const draft = `${fileOf(folder)}.${own.pid}`;
  try {
    await writeFile(draft, JSON.stringify(own), { mode: 0o600, flush: true });
    while (!(await linked(draft, fileOf(folder)))) {
      const other = await readSupervisor(folder);
      if (!other) continue;
      for (let calls = 1; await runs(other, folder); calls++) {
        const socket = await callSupervisor(other);
        socket?.destroy();
        if (socket) return false;
        if (calls === CALLS) process.kill(other.pid, 'SIGKILL');
      }
      await unlockFolder(folder, other);
    }
    return true;
  } finally {
    await rm(draft, { force: true });
  }
}

/** Removes the lock of a supervisor, unless another one has taken it. */
export async function unlockFolder(folder: string, { token }: Pick<Supervisor, 'token'>): Promise<void> {
  if ((await readSupervisor(folder))?.token === token) await rm(fileOf(folder), { force: true });
}

const CALLS = 3; // of a machine that is out of memory the first may be lost

/** Returns whether the process of a lock file is one that supervises this folder. */
async function runs({ pid }: Supervisor, folder: string): Promise<boolean> {
  return pid > 0 && (await commandOf(pid)).includes(`${SUPERVISOR} ${folder} `);
}

function fileOf(folder: string): string {
  return join(folder, 'supervisor');
}

/** Makes the file unless there is one, and whole at once. */
async function linked(draft: string, file: string): Promise<boolean> {
  try {
    await link(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false; // node:fs throws nothing else
    throw error;
  }
}
