import { connect } from '../../src/postgres/pool.ts';

/** A copy of a database as it was at one moment, to be put back later in its place. */
export interface OlderCopy {
  restore(): Promise<void>;
  remove(): Promise<void>;
}

/**
 * Copies a database. Nobody can be connected meanwhile: who is loses the connection, and whoever comes again is cut by `away`.
 */
export async function copyDatabase(url: string, away: <T>(meanwhile: () => Promise<T>) => Promise<T>): Promise<OlderCopy> {
  const name = new URL(url).pathname.slice(1);
  const copy = `${name}_copy`;
  await away(() => replace(url, copy, name));
  return {
    restore: () => away(() => replace(url, name, copy)),
    remove: () => administer(url, async (run) => void (await run(`drop database if exists ${copy} with (force)`))),
  };
}

type Run = (statement: string) => Promise<unknown>;

/** Makes the database `to` a copy of `from`. */
async function replace(url: string, to: string, from: string): Promise<void> {
  await administer(url, async (run) => {
    await run(`drop database if exists ${to} with (force)`);
    for (let tries = 1; ; tries++) {
      await run(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${from}' and pid <> pg_backend_pid()`);
      try {
        return void (await run(`create database ${to} template ${from} strategy wal_log`));
      } catch (error) {
        // object_in_use: the laboratory's own pool was quicker. It asks every few milliseconds.
        if (tries === TRIES || !(error instanceof Error && 'code' in error && error.code === '55006')) throw error;
      }
    }
  });
}

const TRIES = 100;

async function administer(url: string, work: (run: Run) => Promise<void>): Promise<void> {
  const server = new URL(url);
  server.pathname = '/postgres';
  const client = await connect(server.toString(), 'espalier chaos');
  try {
    await work((statement) => client.query(statement));
  } finally {
    await client.end();
  }
}
