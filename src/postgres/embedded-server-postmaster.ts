import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from '../runtime/free-port.ts';
import { isAlive } from '../runtime/this-process.ts';
import type { Account } from './embedded-server-account.ts';
import { EmbeddedServerError, outputError, REMEDY } from './embedded-server-error.ts';
import { type Durability, readIfPresent } from './embedded-server-folder.ts';

/**
 * Returns the postmaster that serves a data folder, or undefined when none does. A `postmaster.pid` whose process is gone is left
 * to the next postmaster, which knows how; one whose number another program of the same user has by now is removed, which
 * Postgres dares not.
 */
async function findPostmaster(folder: string): Promise<{ pid: number; isReady: boolean } | undefined> {
  const data = join(folder, 'data');
  const file = join(data, 'postmaster.pid');
  const lines = (await readIfPresent(file))?.split('\n') ?? [];
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0 || !isAlive(pid)) return undefined;
  if (!(await commandOf(pid)).includes(data)) {
    await rm(file, { force: true });
    return undefined;
  }
  return { pid, isReady: lines[7]?.trim() === 'ready' };
}

/** Returns the command line of a process, or an empty string. */
export async function commandOf(pid: number): Promise<string> {
  if (process.platform === 'linux')
    return readFile(`/proc/${pid}/cmdline`, 'utf8').then(
      (text) => text.replaceAll('\0', ' '),
      () => '',
    );
  return promisify(execFile)('ps', ['-o', 'command=', '-p', String(pid)]).then(
    ({ stdout }) => stdout,
    () => '',
  );
}

const LOOK_MS = 20;
const STOP_MS = 20_000; // a fast shutdown takes well under a second, its checkpoint on a slow disk some seconds

/** Ends the postmaster of a folder, where there is one: it rolls back, checkpoints, and has ended when this resolves. */
export async function stopPostmaster(folder: string): Promise<void> {
  const deadline = Date.now() + STOP_MS;
  for (let sent: NodeJS.Signals | undefined; ; await delay(LOOK_MS)) {
    const postmaster = await findPostmaster(folder);
    if (!postmaster) return;
    const signal = Date.now() > deadline ? 'SIGQUIT' : 'SIGINT'; // SIGQUIT: no checkpoint, the next start recovers from the WAL
    if (signal !== sent && isAlive(postmaster.pid)) process.kill(postmaster.pid, signal);
    sent = signal;
  }
}

const READY_MS = 120_000; // crash recovery of a big folder takes minutes at worst; an ordinary start 0.1 s
const LAUNCHES = 5;
const ENDING_MS = 100;

/**
 * Starts a postmaster, which stops when this process ends in any way. Resolves when it is ready.
 * @returns its port, and what resolves when it has ended.
 * @throws EmbeddedServerError
 */
export async function startPostmaster(folder: string, durability: Durability, postgres: string, account: Account) {
  const deadline = Date.now() + READY_MS;
  for (let launches = 1; Date.now() < deadline; ) {
    // Where it listened last, at which users look for a server that was killed, unless that is taken for good.
    const port = (launches < LAUNCHES && (await lastPort(folder))) || (await freePort());
    const launch = await launchPostmaster(account, join(folder, 'postgres.log'), [
      postgres,
      ...['-D', join(folder, 'data')],
      ...Object.entries({ ...SETTINGS, port, ...(durability === 'none' ? NOTHING_DURABLE : {}) }).flatMap(([name, value]) => [
        '-c',
        `${name}=${value}`,
      ]),
    ]);
    let output: string | undefined;
    while (output === undefined && Date.now() < deadline) {
      if ((await findPostmaster(folder))?.isReady) return { port, ...launch };
      await Promise.race([launch.ended, delay(LOOK_MS)]);
      output = launch.output();
    }
    if (output === undefined) break;
    if (STILL_ENDING.test(output)) await delay(ENDING_MS);
    else if (++launches > LAUNCHES || !PORT_TAKEN.test(output)) throw outputError(folder, 'postgres', output);
  }
  throw new EmbeddedServerError(
    'failed',
    `Postgres in ${folder} was not ready after ${READY_MS / 1000} s; see postgres.log there, or ${REMEDY}`,
  );
}

/**
 * Children of a killed server are still at work: one that computes sees its death when its statement ends. Or another supervisor,
 * which took the lock of this one, has started a server.
 */
const STILL_ENDING = /shared memory block .* is still in use|lock file .* (already exists|is empty)/;
const PORT_TAKEN = /could not bind|Address already in use/;

/** Stops Postgres (SIGINT: roll back, checkpoint, end) at the end of its input, which the kernel closes behind this process. */
const GUARD = `
exec 3<&0
"$@" </dev/null 3<&- & server=$!
(while read -r line <&3; do :; done; kill -INT "$server") & watcher=$!
exec 3<&-
wait "$server"
kill "$watcher"
`;

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: 200,
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  jit: 'off', // short statements only: compiling costs more than it saves
  io_method: 'sync', // of pages in the cache of the kernel a worker is asked for each: three times the CPU of reading them
};
const NOTHING_DURABLE = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  checkpoint_timeout: '1h',
  autovacuum: 'off',
  wal_level: 'minimal',
  max_wal_senders: 0, // a table that is filled in the transaction that makes it is not logged
};

async function launchPostmaster(account: Account, logFile: string, program: readonly string[]) {
  const log = await openLog(logFile);
  const { command, args, options } = account.wrap('/bin/sh', ['-c', GUARD, 'guard', ...program]);
  const guard = spawn(command, args, { ...options, stdio: ['pipe', log.file.fd, log.file.fd] });
  guard.stdin?.on('error', () => undefined); // it ended first
  let output: string | undefined;
  const ended = once(guard, 'exit')
    .then(log.written, (error) => `${command}: ${String(error)}`)
    .then((text) => {
      output = text;
    });
  await log.file.close();
  return { ended, output: () => output };
}

const LOG_LIMIT = 16 * 1024 * 1024;

async function openLog(path: string) {
  const size = await stat(path).then(
    (file) => file.size,
    () => 0,
  );
  if (size > LOG_LIMIT) await rename(path, `${path}.1`);
  const file = await open(path, 'a', 0o600);
  const from = size > LOG_LIMIT ? 0 : size;
  // The folder may be gone by the time that the server ends.
  const written = () => readFile(path).then((bytes) => bytes.subarray(from).toString('utf8').slice(-8_000), String);
  return { file, written };
}

/** Reads the port from the command line that Postgres kept of its last start. */
async function lastPort(folder: string): Promise<number | undefined> {
  const options = (await readIfPresent(join(folder, 'data/postmaster.opts'))) ?? '';
  return Number(/"port=(\d+)"/.exec(options)?.[1]) || undefined;
}
