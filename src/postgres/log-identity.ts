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

/** Returns what tells this installation from any other, also after its database was dumped and restored on another server. */
export async function installationIdentity(db: Db): Promise<string> {
  const { installation } = await db.selectFrom('logIdentity').select('installation').executeTakeFirstOrThrow();
  return installation;
}
