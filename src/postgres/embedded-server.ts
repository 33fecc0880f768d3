import { mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { chooseAccount } from './embedded-server-account.ts';
import { findPostgresBinaries, type PostgresBinaries } from './embedded-server-binaries.ts';
import { EmbeddedServerError, folderError, outputError, REMEDY } from './embedded-server-error.ts';
import { type Durability, ensureDataFolder, passwordOf, SUPERUSER } from './embedded-server-folder.ts';
import { type Guard, type GuardStart, startGuard } from './embedded-server-guard.ts';
import { keepServer } from './embedded-server-keeper.ts';
import { findPostmaster, type Postmaster, startPostmaster } from './embedded-server-process.ts';
import { openUsers } from './embedded-server-users.ts';
import { connect } from './pool.ts';

export interface EmbeddedPostgres {
  /** The address of the database `espalier`, password included; 127.0.0.1 only. */
  readonly url: string;
  /** Whether this call started the server, or found it running. */
  readonly started: boolean;
  /** Leaves the server to its other users. When there are none it stops, and has stopped when this resolves. */
  close(): Promise<void>;
}

/**
 * Starts a real Postgres 18 on a folder, or attaches to the one that already runs there. The folder holds `data/`, `password`
 * (0600), `users/` and `postgres.log`. The server belongs to the folder, not to the process that started it: it stops behind its
 * last user, however each of them ends, SIGKILL included, and what was committed stays. A server or a guard that is killed while
 * it has users is replaced by one of them, at the same address.
 * @throws EmbeddedServerError with the remedy.
 */
export async function startEmbeddedPostgres(options: {
  readonly folder: string;
  readonly durability?: Durability;
  /** Where it listens; a free port when left out. */
  readonly port?: number;
  /** The folder of its Unix socket, next to the port; no such socket when left out. */
  readonly sockets?: string;
}): Promise<EmbeddedPostgres> {
  const binaries = await findPostgresBinaries();
  try {
    await mkdir(options.folder, { recursive: true });
    return await startOrAttach({ ...options, folder: await realpath(options.folder) }, binaries);
  } catch (error) {
    throw folderError(options.folder, error);
  }
}

const READY_MS = 120_000; // crash recovery of a big folder takes minutes at worst; an ordinary start 0.1 s
const LAUNCHES = 5;

async function startOrAttach(
  { folder, durability = 'fsync', port, sockets = '' }: Parameters<typeof startEmbeddedPostgres>[0],
  binaries: PostgresBinaries,
): Promise<EmbeddedPostgres> {
  const account = await chooseAccount(join(folder, 'data'), [folder, binaries.postgres]);
  const data = await ensureDataFolder(folder, binaries, account, durability);
  const password = await passwordOf(folder);
  const users = await openUsers(folder, account);
  const server = { folder, data, account, users, password, durability, sockets, postgres: binaries.postgres };
  const { url, started } = await attach(server, port);
  const keeping = keepServer(server, (again) => attach(server, again), Number(new URL(url).port));
  return {
    url,
    started,
    close: once(async () => {
      await keeping.close();
      await leave(server);
    }),
  };
}

interface Server extends Omit<GuardStart, 'server'> {
  readonly password: string;
  readonly durability: Durability;
  readonly sockets: string;
  readonly postgres: string;
}

/**
 * Becomes a user of the server, which is started where none runs. Postgres itself decides who starts it: the postmaster makes
 * `postmaster.pid` exclusively, so of several processes one wins and the others find a running server on their next look. A guard
 * that was killed, or does not answer because it is stopped, gets another one next to it.
 */
async function attach(server: Server, port: number | undefined): Promise<{ readonly url: string; readonly started: boolean }> {
  const { folder, data, users, password } = server;
  const deadline = Date.now() + READY_MS;
  let own: Guard | undefined;
  let started: number | undefined;
  let output: string | undefined;
  let unanswered: number | undefined;
  try {
    for (let launches = 0; Date.now() < deadline; ) {
      const found = await findPostmaster(data);
      if (found?.status === 'ready') {
        const answer = await users.join(found.pid);
        unanswered = answer === 'unanswered' ? (unanswered ?? Date.now()) : undefined;
        const isFrozen = unanswered !== undefined && Date.now() - unanswered > GUARD_MS;
        if (answer === 'unguarded' || isFrozen) await startGuard({ ...server, server: found.pid });
        if (isFrozen) unanswered = undefined;
        const url = answer === 'joined' ? await openedUrl(found, password) : undefined;
        if (url !== undefined) return { url, started: found.pid === started };
      } else if (!found && !own) {
        if (output !== undefined && stillEnding(output)) await delay(ENDING_MS);
        else if (++launches > LAUNCHES || (output !== undefined && !worthAnotherTry(output)))
          throw outputError(folder, 'postgres', output ?? '');
        own = await startPostmaster({ ...server, port });
        started = own.pid;
      }
      const ended = await Promise.race([own?.ended, delay(LOOK_MS)]);
      if (own && ended !== undefined) {
        own = undefined;
        output = ended;
      }
    }
    throw new EmbeddedServerError(
      'failed',
      `Postgres in ${folder} was not ready after ${READY_MS / 1000} s; see postgres.log there, or ${REMEDY}`,
    );
  } catch (error) {
    await leave(server);
    throw error;
  }
}

const GUARD_MS = 2_000; // a guard answers within milliseconds
const LOOK_MS = 20;
const ENDING_MS = 100;

/** Returns whether a launch failed by a coincidence: the port was taken, another process won, or has just made its lock file. */
function worthAnotherTry(output: string): boolean {
  return /could not bind|Address already in use|lock file .* (already exists|is empty)/.test(output);
}

/**
 * Returns whether children of a killed server are still at work: one that computes sees the death of its server only when its
 * statement ends.
 */
function stillEnding(output: string): boolean {
  return /shared memory block .* is still in use/.test(output);
}

function once(close: () => Promise<void>): () => Promise<void> {
  let closed: Promise<void> | undefined;
  return () => {
    closed ??= close();
    return closed;
  };
}

const STOP_MS = 20_000; // a fast shutdown takes well under a second, its checkpoint on a slow disk some seconds

/**
 * Ends being a user. Where nobody else is one, waits until the guard has stopped the server; a guard that was killed or stopped
 * is replaced first.
 */
async function leave(server: Server): Promise<void> {
  const { data, users } = server;
  await users.leave();
  const deadline = Date.now() + STOP_MS;
  let frozen = Date.now() + GUARD_MS;
  for (let forced = false; !users.anyone(); ) {
    const found = await findPostmaster(data);
    if (!found) return;
    if (!users.guarded() || (Date.now() > frozen && found.status !== 'stopping')) {
      await startGuard({ ...server, server: found.pid });
      await users.leave();
      frozen = Date.now() + GUARD_MS;
    }
    if (Date.now() > deadline && !forced) {
      process.kill(found.pid, 'SIGQUIT'); // without a checkpoint: the next start recovers from the WAL
      forced = true;
    }
    await delay(LOOK_MS);
  }
}

/** Returns the address once the server answers and the database exists; undefined when it is just going away. */
async function openedUrl({ port }: Postmaster, password: string): Promise<string | undefined> {
  const base = `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}`;
  try {
    const client = await connect(`${base}/postgres`, 'espalier start');
    try {
      const { rowCount } = await client.query('select from pg_database where datname = $1', [SUPERUSER]);
      if (rowCount === 0) await client.query(`create database ${SUPERUSER}`).catch(ignoreDuplicate);
    } finally {
      await client.end();
    }
    return `${base}/${SUPERUSER}`;
  } catch (error) {
    if (isGoingAway(error)) return undefined;
    throw error;
  }
}

function ignoreDuplicate(error: Error & { code?: string }): void {
  // 42P04 duplicate_database, 23505 when two created it at the same moment
  if (error.code !== '42P04' && error.code !== '23505') throw error;
}

function isGoingAway(error: unknown): boolean {
  const { code = '', message = '' } = (error ?? {}) as { code?: string; message?: string }; // of pg or of node:net
  return code === 'ECONNREFUSED' || code === 'ECONNRESET' || code.startsWith('57P') || message.includes('Connection terminated');
}
