import { once } from 'node:events';
import { link, rm, writeFile } from 'node:fs/promises';
import { createConnection, type Socket } from 'node:net';
import { join } from 'node:path';
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
export const GREETING = 'espalier supervisor\n';

/** Returns what the lock file says, of a supervisor that runs or was killed. */
export async function readSupervisor(folder: string): Promise<Supervisor | undefined> {
  const text = await readIfPresent(fileOf(folder));
  return text === undefined ? undefined : (JSON.parse(text) as Supervisor); // written whole by `lockFolder`
}

const ANSWER_MS = 3_000; // it answers within milliseconds; one that is frozen never

/** Connects to a supervisor; undefined where it does not answer. */
export async function callSupervisor({ port }: Supervisor): Promise<Socket | undefined> {
  const socket = createConnection({ host: '127.0.0.1', port }).on('error', () => undefined);
  try {
    const [greeting] = await once(socket, 'data', { signal: AbortSignal.timeout(ANSWER_MS) });
    if (String(greeting) === GREETING) return socket;
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
  await writeFile(draft, JSON.stringify(own), { mode: 0o600 });
  try {
    while (!(await linked(draft, fileOf(folder)))) {
      const other = await readSupervisor(folder);
      if (!other) continue;
      const socket = await callSupervisor(other);
      socket?.destroy();
      if (socket) return false;
      if ((await commandOf(other.pid)).includes(`${SUPERVISOR} ${folder} `)) process.kill(other.pid, 'SIGKILL');
      if ((await readSupervisor(folder))?.token === other.token) await unlockFolder(folder);
    }
    return true;
  } finally {
    await rm(draft, { force: true });
  }
}

export async function unlockFolder(folder: string): Promise<void> {
  await rm(fileOf(folder), { force: true });
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
