import { sql } from 'kysely';
import { sha256Hex } from '../digest/sha256.ts';
import type { Db } from './database.ts';

/**
 * Writes which log the read models of this database are folded from, unless one is written. Returns the identity that is written:
 * another than the one given means that the database belongs to another log.
 */
export async function claimLogIdentity(db: Db, identity: string): Promise<string> {
  await db
    .insertInto('logIdentity')
    .values({ identity })
    .onConflict((on) => on.doNothing())
    .execute();
  const held = await db.selectFrom('logIdentity').select('identity').executeTakeFirstOrThrow();
  return held.identity;
}

/** Returns what tells this installation from any other: a digest of its database server and of the database there. */
export async function installationIdentity(db: Db): Promise<string> {
  const { rows } = await sql<{ server: string; database: string }>`
    select system_identifier::text as server, oid::text as database
    from pg_control_system(), pg_database where datname = current_database()`.execute(db);
  const { server, database } = rows[0] as { server: string; database: string }; // a database that answers is listed
  return sha256Hex(`${server}/${database}`).slice(0, 16);
}
