import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { link, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Account } from './embedded-server-account.ts';
import { type Durability, isAlive, readIfPresent } from './embedded-server-folder.ts';

/** A postmaster as its `postmaster.pid` tells of it. */
export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  readonly status: 'starting' | 'ready' | 'stopping';
}

/**
 * Gives the postmaster that serves a data folder, or undefined when none does. A `postmaster.pid` whose process is gone is left to the
 * next postmaster, which knows how; one whose number another program of the same user has by now is removed, which Postgres dares not.
 */
export async function findPostmaster(data: string): Promise<Postmaster | undefined> {
  const file = join(data, 'postmaster.pid');
  const text = await readIfPresent(file);
  const lines = text?.split('\n') ?? [];
  const pid = Number(lines[0]);
  if (text === undefined || !Number.isInteger(pid) || pid <= 0 || !isAlive(pid)) return undefined;
  if (!(await commandOf(pid)).includes(data)) {
    await removeStale(file, text);
    return undefined;
  }
  const status = lines[7]?.trim();
  return { pid, port: Number(lines[3]), status: status === 'ready' || status === 'stopping' ? status : 'starting' };
}

async function commandOf(pid: number): Promise<string> {
  if (process.platform === 'linux') return readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return promisify(execFile)('ps', ['-o', 'command=', '-p', String(pid)]).then(
    ({ stdout }) => stdout,
    () => '',
  );
}

/** Removes the file only while it says what we read: a postmaster that another process started meanwhile gets its file back. */
async function removeStale(file: string, stale: string): Promise<void> {
  const aside = `${file}.${process.pid}`;
  await rename(file, aside).catch(() => undefined);
  if ((await readIfPresent(aside)) !== stale) await link(aside, file).catch(() => undefined);
  await rm(aside, { force: true });
}

// Starts Postgres, says its process id, and stops it (SIGINT: roll back, checkpoint, end) when stdin closes, which the kernel does for an
// owner that ends in any way, SIGKILL included. The inner loop reads with a builtin, so that no process is left when Postgres ends first.
const GUARD = `
exec 3<&0
"$@" </dev/null >&2 3<&- & server=$!
echo "$server"
( while read -r line <&3; do :; done; kill -INT "$server" ) >/dev/null & watcher=$!
exec 3<&- </dev/null >/dev/null
wait "$server"; code=$?
kill "$watcher" 2>/dev/null
exit "$code"
`;

export interface Guarded {
  readonly pid: number;
  readonly port: number;
  /** Resolves with what the server wrote, once it has ended. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

export interface PostmasterStart {
  readonly folder: string;
  readonly data: string;
  readonly postgres: string;
  readonly account: Account;
  readonly durability: Durability;
  /** A free one when undefined. */
  readonly port: number | undefined;
}

/** Starts a postmaster under a guard that ends it with this process. It may end at once: see `ended`. */
export async function startPostmaster(start: PostmasterStart): Promise<Guarded> {
  const { folder, data, postgres, account, durability } = start;
  const port = start.port ?? (await freePort());
  const log = await openLog(join(folder, 'postgres.log'));
  const { command, args, options } = account.wrap('/bin/sh', [
    '-c',
    GUARD,
    'guard',
    postgres,
    ...serverArguments(data, port, durability),
  ]);
  // detached: a Ctrl-C in the terminal is for the program, which then closes its server last, not for the server.
  const guard = spawn(command, args, { ...options, detached: true, stdio: ['pipe', 'pipe', log.file.fd] });
  const ended = once(guard, 'exit').then(
    () => log.written(),
    (error) => `${command}: ${String(error)}`,
  );
  const pid = await firstLine(guard);
  await log.file.close();
  letGo(guard);
  return { pid, port, ended, stop: () => stop(guard, pid, ended) };
}

function serverArguments(data: string, port: number, durability: Durability): readonly string[] {
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: '',
    max_connections: 200,
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_checkpoints: 'off',
    jit: 'off', // short statements only: compiling costs more than it saves
    ...(durability === 'none' ? { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' } : {}),
  };
  return ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
}

const LOG_LIMIT = 16 * 1024 * 1024;

async function openLog(path: string) {
  const size = await stat(path).then(
    (found) => found.size,
    () => 0,
  );
  if (size > LOG_LIMIT) await rename(path, `${path}.1`);
  const file = await open(path, 'a', 0o600);
  const from = size > LOG_LIMIT ? 0 : size;
  return { file, written: async () => (await readFile(path)).subarray(from).toString('utf8').slice(-8_000) };
}

/** Asks the kernel for a port that nobody listens on. Another program may take it before Postgres does: the caller tries again. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('a TCP server has an address with a port');
  return address.port;
}

async function firstLine(guard: ChildProcess): Promise<number> {
  let text = '';
  try {
    for await (const chunk of guard.stdout ?? []) {
      text += String(chunk);
      if (text.includes('\n')) break;
    }
  } catch {
    // the guard could not be started: `ended` says why
  }
  return Number.parseInt(text, 10) || 0;
}

/** Lets this process end although the guard runs; the guard then sees its stdin close. */
function letGo(guard: ChildProcess): void {
  guard.unref();
  guard.stdin?.on('error', () => undefined); // the guard ended first: `ended` says so
  const stdin: unknown = guard.stdin;
  if (typeof stdin === 'object' && stdin !== null && 'unref' in stdin && typeof stdin.unref === 'function') stdin.unref();
}

const STOP_MS = 20_000; // a fast shutdown takes well under a second, its checkpoint on a slow disk some seconds

async function stop(guard: ChildProcess, pid: number, ended: Promise<unknown>): Promise<void> {
  guard.ref();
  guard.stdin?.end();
  const late = setTimeout(() => process.kill(pid, 'SIGQUIT'), STOP_MS); // without a checkpoint: the next start recovers from the WAL
  await ended;
  clearTimeout(late);
}
