import { spawn } from 'node:child_process';
import { realpath } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { makeFolder } from '../runtime/make-folder.ts';
import { rest } from '../runtime/retry.ts';
import { EmbeddedServerError, folderError, outputError } from './embedded-server-error.ts';
import { type Durability, urlOf } from './embedded-server-folder.ts';
import { callSupervisor, readSupervisor, SUPERVISOR } from './embedded-server-lock.ts';

export interface EmbeddedPostgres {
  /** The address of its database, password included; 127.0.0.1 only. */
  readonly url: string;
  /** Whether this call started the server, or found it running. */
  readonly started: boolean;
  /** Leaves the server to its other users. When there are none it stops, and has stopped when this resolves. */
  close(): Promise<void>;
}

/**
 * Starts a real Postgres 18 on a folder, or attaches to the one that already runs there. The folder holds `data/`, `password`
 * (0600), `supervisor` (0600) and `postgres.log`. The server belongs to the folder, not to the process that started it: a
 * supervisor, a process of its own, starts it, starts it again when it was killed, and stops it behind its last
 * user, however each of them ends, SIGKILL included. What was committed stays. A supervisor that is killed takes its server with
 * it, and a user starts both again. It listens at the port where it listened last, unless that is taken.
 * @throws EmbeddedServerError with the remedy.
 */
export async function startEmbeddedPostgres(options: {
  readonly folder: string;
  readonly durability?: Durability;
}): Promise<EmbeddedPostgres> {
  try {
    await makeFolder(options.folder);
    const folder = await realpath(options.folder);
    return await attach(folder, options.durability ?? 'fsync');
  } catch (error) {
    throw folderError(options.folder, error);
  }
}

const AGAIN_MS = 1_000;
const LEAVE_MS = 30_000; // longer than a supervisor takes to stop a server

async function attach(folder: string, durability: Durability): Promise<EmbeddedPostgres> {
  const closing = new AbortController();
  const { signal } = closing;
  let user = await enter(folder, durability);
  const { port, started } = user;
  const kept = keep();
  let closed: Promise<void> | undefined;
  return {
    url: await urlOf(folder, port),
    started,
    close() {
      closed ??= close();
      return closed;
    },
  };

  /** Replaces a supervisor that was killed. What fails (a full disk) is tried again: clients report that nobody answers. */
  async function keep(): Promise<void> {
    while (!signal.aborted) {
      await user.ended;
      if (signal.aborted) return;
      user = await enter(folder, durability).catch(() => user);
      if (user.socket.destroyed) await rest(AGAIN_MS, signal);
    }
  }

  async function close(): Promise<void> {
    closing.abort();
    await leave();
    await kept;
    await leave(); // where `keep` has entered meanwhile
  }

  /** The supervisor hangs up when others use the server, or when it has stopped. */
  async function leave(): Promise<void> {
    user.socket.ref().setTimeout(LEAVE_MS, () => user.socket.destroy());
    user.socket.end();
    await user.ended;
  }
}

const LOOK_MS = 20;

/** Becomes a user of the server; starts a supervisor where there is none. Of several that start at once, one stays. */
async function enter(folder: string, durability: Durability) {
  let own: ReturnType<typeof startSupervisor> | undefined;
  try {
    for (;;) {
      const user = await register(folder);
      if (user) return { ...user, started: user.supervisor === own?.pid };
      own ??= startSupervisor(folder, durability);
      const end = await Promise.race([own.ended, delay(LOOK_MS)]);
      if (end instanceof EmbeddedServerError) throw end;
      if (end !== 'ended') continue;
      own = undefined;
      await delay(LOOK_MS);
    }
  } finally {
    own?.release();
  }
}

/**
 * Becomes a user when the server is ready, for as long as its socket is open: the kernel closes that of a process that ends in any
 * way. Undefined where there is no supervisor, or it ends before.
 */
async function register(folder: string) {
  const supervisor = await readSupervisor(folder);
  const socket = supervisor && (await callSupervisor(supervisor));
  if (!socket) return undefined;
  const ended = new Promise((resolve) => socket.once('close', resolve));
  const answer = new Promise((resolve) => socket.once('data', resolve));
  socket.write(`${supervisor.token}\n`);
  const port = /^ready (\d+)$/m.exec(String(await Promise.race([answer, ended])))?.[1];
  if (port === undefined) return undefined;
  socket.unref();
  return { socket, ended, port: Number(port), supervisor: supervisor.pid };
}

const RUN = fileURLToPath(new URL('../../bin/run.js', import.meta.url));

/** Starts a supervisor in a session of its own: a Ctrl-C in the terminal is not for it. It ends at once where there is another one. */
function startSupervisor(folder: string, durability: Durability) {
  const child = spawn(process.execPath, [RUN, SUPERVISOR, folder, durability], {
    cwd: '/',
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const failed = new Promise<string>((resolve) => child.once('error', (error) => resolve(error.message)));
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const output = text(child.stderr).catch(() => '');
  return {
    pid: child.pid,
    /** Why it could not start the server; `ended` where there is another supervisor, or it was killed. */
    ended: Promise.race([
      failed.then((message) => supervisorError(folder, message)),
      exited.then(async (code) => (code ? supervisorError(folder, await output) : ('ended' as const))),
    ]),
    release() {
      child.stderr.destroy();
      child.unref();
    },
  };
}

/** Reads the error that a supervisor printed. Anything else is of node. */
function supervisorError(folder: string, output: string): EmbeddedServerError {
  const printed = /^\{"code":.*\}$/m.exec(output)?.[0];
  if (printed === undefined) return outputError(folder, 'the supervisor of Postgres', output);
  const { code, message } = JSON.parse(printed) as Pick<EmbeddedServerError, 'code' | 'message'>; // see `superviseServer`
  return new EmbeddedServerError(code, message);
}
