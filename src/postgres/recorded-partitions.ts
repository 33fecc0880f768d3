import type { Db } from './database.ts';

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
