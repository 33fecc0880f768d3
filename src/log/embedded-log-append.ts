import type { LogTopic, Pool } from './embedded-log-topics.ts';
import type { LogRecord, Receipt } from './event-log.ts';
import { partitionOf } from './partition-for-key.ts';

/**
 * Appends records in one transaction and returns a receipt for each, in their order. The statement and its locking are
 * `log_append` in migrations/0002-log.sql.
 * @param topics must know every topic of the records.
 */
export async function appendRecords(
  pool: Pool,
  topics: ReadonlyMap<string, LogTopic>,
  records: readonly LogRecord[],
): Promise<readonly Receipt[]> {
  const places = records.map((record) => placeOf(record, topics));
  const ids = [...new Set(places.map(({ partitionId }) => partitionId))].sort((a, b) => a - b);
  const slotOf = new Map(ids.map((id, i) => [id, i]));
  const counts = ids.map(() => 0);
  const slots = places.map(({ partitionId }) => slotOf.get(partitionId) ?? 0);
  const ranks = slots.map((slot) => {
    const rank = counts[slot] ?? 0;
    counts[slot] = rank + 1;
    return rank;
  });
  const lengths = records.map(({ value }) => value.byteLength);
  let end = 0;
  const starts = lengths.map((length) => {
    end += length;
    return end - length;
  });
  const bodies = Buffer.concat(
    records.map(({ value }) => value),
    end,
  );
  const { rows } = await pool.query<{ firsts: string[] }>({
    name: 'log-append',
    text: 'select log_append($1, $2, $3, $4, $5, $6, $7, $8)::text[] as firsts',
    values: [ids, counts, slots.map((slot) => slot + 1), ranks, records.map(({ key }) => key), starts, lengths, bodies],
  });
  const firsts = rows[0]?.firsts.map(Number) ?? [];
  return places.map(({ topic, partition }, i) => ({
    topic,
    partition,
    offset: (firsts[slots[i] ?? 0] ?? Number.NaN) + (ranks[i] ?? 0),
  }));
}

function placeOf(record: LogRecord, topics: ReadonlyMap<string, LogTopic>) {
  const { topic } = record;
  const partitionIds = topics.get(topic)?.partitionIds ?? [];
  const partition = partitionOf(record, partitionIds.length);
  const partitionId = partitionIds[partition];
  if (partitionId === undefined) throw new TypeError(`partition ${partition} of ${topic} was not looked up`);
  return { topic, partition, partitionId };
}
