import { randomInt } from 'node:crypto';
import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { connect } from '../../postgres/pool.ts';
import { dropSnapshotSchema } from './snapshot-schema.ts';

type Client = Awaited<ReturnType<typeof connect>>;

const LOCK = 0x65_73_70_61; // with the number of an owner: held as long as its snapshots are used

/** A process that keeps snapshots: its schemas carry its number, and a lock that ends with its connection says that it lives. */
export interface SnapshotOwner {
  /** Returns the name of the next schema. */
  nextSchema(): string;
  /** False once the connection is lost: others may have dropped what was kept. */
  lives(): boolean;
  close(): Promise<void>;
}

/** Becomes an owner, and drops what owners left that live no more. */
export async function becomeOwner(url: string, db: Db): Promise<SnapshotOwner> {
  const client = await connect(url, 'espalier as of');
  let lives = true;
  client.on('error', () => undefined); // its end is what we act on
  client.once('end', () => {
    lives = false;
  });
  try {
    const number = await takeNumber(client);
    await dropLeftovers(client, db);
    let made = 0;
    return {
      nextSchema: () => `as_of_${number}_${++made}`,
      lives: () => lives,
      close: () => client.end(),
    };
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
}

/** Drops what owners left that live no more, for who may never keep a snapshot itself. */
export async function dropLeftSnapshots(url: string, db: Db): Promise<void> {
  await (await becomeOwner(url, db)).close();
}

async function takeNumber(client: Client): Promise<number> {
  for (;;) {
    const number = randomInt(1, 2 ** 31);
    if (await tryLock(client, number)) return number;
  }
}

async function dropLeftovers(client: Client, db: Db): Promise<void> {
  const { rows } = await sql<{ schema: string; owner: number }>`
    select nspname::text as schema, split_part(nspname, '_', 3)::integer as owner from pg_namespace
    where nspname ~ '^as_of_[0-9]{1,10}_[0-9]+$' order by nspname`.execute(db);
  for (const { schema, owner } of rows) {
    // Its own lock a session gets again: what it made itself is not among these yet.
    if (!(await tryLock(client, owner))) continue;
    await dropSnapshotSchema(db, schema);
    await client.query('select pg_advisory_unlock($1, $2)', [LOCK, owner]);
  }
}

async function tryLock(client: Client, number: number): Promise<boolean> {
  const { rows } = await client.query<{ held: boolean }>('select pg_try_advisory_lock($1, $2) as held', [LOCK, number]);
  return rows[0]?.held === true;
}
