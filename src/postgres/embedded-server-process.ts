import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { link, readFile, rename, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Durability, isAlive, readIfPresent } from './embedded-server-folder.ts';
import { type Guard, type GuardStart, startGuard } from './embedded-server-guard.ts';

/** A postmaster as its `postmaster.pid` describes it. */
export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  readonly status: 'starting' | 'ready' | 'stopping';
}

/**
 * Returns the postmaster that serves a data folder, or undefined when none does. A `postmaster.pid` whose process is gone is left
 * to the next postmaster, which knows how; one whose number another program of the same user has by now is removed, which
 * Postgres dares not.
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

export interface PostmasterStart extends Omit<GuardStart, 'server'> {
  readonly postgres: string;
  readonly durability: Durability;
  readonly sockets: string;
  /** A free one when undefined. */
  readonly port: number | undefined;
}

/** Starts a postmaster under a guard that ends it behind its last user. It may end at once: see `ended`. */
export async function startPostmaster({ postgres, port, ...start }: PostmasterStart): Promise<Guard> {
  return startGuard({ ...start, server: [postgres, ...serverArguments(start, port ?? (await freePort()))] });
}

const NOTHING_DURABLE = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  checkpoint_timeout: '1h',
  autovacuum: 'off',
  wal_level: 'minimal',
  max_wal_senders: 0, // a table that is filled in the transaction that makes it is not logged
};

type ServerSettings = Pick<PostmasterStart, 'data' | 'durability' | 'sockets'>;
function serverArguments({ data, durability, sockets }: ServerSettings, port: number): readonly string[] {
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    unix_socket_directories: sockets,
    max_connections: 200,
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_checkpoints: 'off',
    jit: 'off', // short statements only: compiling costs more than it saves
    io_method: 'sync', // of pages in the cache of the kernel a worker is asked for each: three times the CPU of reading them
    ...(durability === 'none' ? NOTHING_DURABLE : {}),
  };
  return ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
}

/**
 * Asks the kernel for a port that nobody listens on. Another program may take it before Postgres does: the caller tries again.
 */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('a TCP server has an address with a port');
  return address.port;
}
