import { randomInt, randomUUID } from 'node:crypto';
import type pg from 'pg';
import { connect } from './pool.ts';

/** Sessions of the database cannot be had at the addresses of the configuration. */
export class DirectUrlNeeded extends Error {
  override readonly name = 'DirectUrlNeeded';
}

const REMEDY = 'set DATABASE_DIRECT_URL to the address of Postgres itself; DATABASE_URL may stay that of the pooler';

/**
 * Refuses an address at which a pooler lends connections by the transaction where sessions are needed: LISTEN, session locks and
 * settings would be lost without a word. A connection is recognised as pooled by its server process, which is not the one that it
 * was announced with. @param pool of what works through a pooler. @param url for sessions.
 * @throws DirectUrlNeeded.
 */
export async function refusePooledSessions(pool: pg.Pool, url: string): Promise<void> {
  const first = await connect(url, 'espalier start');
  try {
    if ((await isPooled(first)) && (await isLent(first, url)))
      throw new DirectUrlNeeded(
        `a pooler lends connections by the transaction at the address for sessions of Postgres; ${REMEDY}`,
      );
    if (!(await isOneDatabase(pool, first)))
      throw new DirectUrlNeeded(`DATABASE_DIRECT_URL leads to another database than DATABASE_URL; ${REMEDY}`);
  } finally {
    await first.end().catch(() => undefined);
  }
}

async function isPooled(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return rows[0]?.pid !== (client as unknown as { readonly processID: number }).processID; // pg keeps it; its types leave it out
}

/** Whether a second connection meets what the first one set for its session, or drives it to another server process. */
async function isLent(first: pg.Client, url: string): Promise<boolean> {
  const token = randomUUID();
  const mine = await first.query<{ pid: number }>("select pg_backend_pid() as pid, set_config('espalier.session', $1, false)", [
    token,
  ]);
  const second = await connect(url, 'espalier start');
  try {
    await second.query('begin');
    const { rows } = await second.query<{ pid: number; token: string | null }>(
      "select pg_backend_pid() as pid, current_setting('espalier.session', true) as token",
    );
    const again = await first.query<{ pid: number }>('select pg_backend_pid() as pid');
    await second.query('rollback');
    return rows[0]?.token === token || rows[0]?.pid === mine.rows[0]?.pid || again.rows[0]?.pid !== mine.rows[0]?.pid;
  } finally {
    await second.end().catch(() => undefined);
  }
}

/** Whether a lock of a transaction of the pool is met by a session: locks are of one database of one server. */
async function isOneDatabase(pool: pg.Pool, session: pg.Client): Promise<boolean> {
  const key = [randomInt(2 ** 31), randomInt(2 ** 31)];
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query('select pg_advisory_xact_lock($1, $2)', key);
    const { rows } = await session.query<{ free: boolean }>('select pg_try_advisory_xact_lock($1, $2) as free', key);
    return rows[0]?.free === false;
  } finally {
    await client.query('rollback').catch(() => undefined);
    client.release();
  }
}
