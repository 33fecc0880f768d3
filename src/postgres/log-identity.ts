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

/** Reads how many partitions every topic had at its first start. */
export async function readRecordedPartitions(db: Db): Promise<ReadonlyMap<string, number>> {
  const rows = await db.selectFrom('recordedPartitions').select(['topic', 'partitions']).execute();
  return new Map(rows.map(({ topic, partitions }) => [topic, partitions]));
}

/** Records the partitions of topics. What is recorded stays. */
export async function recordPartitions(db: Db, extents: ReadonlyMap<string, ReadonlyMap<number, unknown>>): Promise<void> {
  const values = [...extents].map(([topic, { size: partitions }]) => ({ topic, partitions }));
  if (values.length === 0) return;
  await db
    .insertInto('recordedPartitions')
    .values(values)
    .onConflict((on) => on.doNothing())
    .execute();
}
