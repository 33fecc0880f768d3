import { logFault } from './embedded-log-fault.ts';
import type { Pool } from './embedded-log-topics.ts';
import { type LogBatch, LogError } from './event-log.ts';

const STATEMENT_BYTES = 8 * 1024 * 1024;

/**
 * Appends records of another log to a partition at their offsets and with their times, in one statement per 8 MB. A record of
 * which the other log did not say when it took it gets the time of the record before it, as times never decrease.
 * @throws LogError `fatal` where the partition does not end at `from`.
 */
export async function restoreRecords(pool: Pool, partitionId: number, { topic, partition, ...batch }: LogBatch): Promise<void> {
  let [from, at] = [batch.from, 0];
  do {
    const slice = takeSlice(batch.records, at);
    at += slice.length;
    const next = at === batch.records.length ? batch.next : (batch.records[at]?.offset ?? batch.next);
    const values = slice.map(({ value }) => value);
    const lengths = values.map(({ byteLength }) => byteLength);
    let end = 0;
    const starts = lengths.map((length) => {
      end += length;
      return end - length;
    });
    const result = await pool
      .query(RESTORE, [
        partitionId,
        from,
        next,
        slice.map(({ offset }) => offset),
        slice.map(({ key }) => (key ?? '').replaceAll('\0', '')), // which Postgres cannot store; no reader asks for the key
        slice.map(({ receivedAt }) => receivedAt),
        starts,
        lengths,
        Buffer.concat(values, end),
      ])
      .catch((error: unknown) => {
        throw logFault(`restoring ${topic}.${partition}`, error);
      });
    if (result.rows.length === 0)
      throw new LogError('fatal', `${topic}.${partition} does not end at offset ${from}: it holds other records`);
    from = next;
  } while (at < batch.records.length);
}

// A statement without records moves the end past offsets that the other log left empty.
const RESTORE = `
  with place as (
    select partition_id, coalesce(received_at, to_timestamp(0)) as since
    from log_partitions where partition_id = $1 and next_offset = $2 for update
  ), records as (
    select r."offset", r.key, substring($9::bytea from r.start + 1 for r.length) as value,
           greatest(since, max(to_timestamp(r.at / 1000.0)) over (order by r."offset")) as received_at
    from place, unnest($4::bigint[], $5::text[], $6::float8[], $7::integer[], $8::integer[]) as r ("offset", key, at, start, length)
  ), added as (
    insert into log_records (partition_id, "offset", key, value, received_at)
    select $1, "offset", key, value, received_at from records
  )
  update log_partitions set next_offset = $3, received_at = coalesce((select max(received_at) from records), received_at)
  where partition_id = (select partition_id from place) returning partition_id`;

function takeSlice(records: LogBatch['records'], at: number): LogBatch['records'] {
  let [to, bytes] = [at, 0];
  for (; to < records.length; to++) {
    bytes += records[to]?.value.byteLength ?? 0;
    if (bytes > STATEMENT_BYTES && to > at) break;
  }
  return records.slice(at, to);
}
