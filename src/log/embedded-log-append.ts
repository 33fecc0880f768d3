import type { GrowthNotices } from './embedded-log-growth.ts';
import type { LogTopic, Pool } from './embedded-log-topics.ts';
import type { LogRecord, Receipt } from './event-log.ts';
import { partitionOf } from './partition-for-key.ts';

const FENCED = 'ESPFE'; // the SQLSTATE of log_write_fenced

/** Collectors that appended were replaced by later ones: nothing of the transaction is in the log. */
export class RunsFenced extends Error {
  override readonly name = 'RunsFenced';
  readonly runIds: ReadonlySet<string>;
  constructor(runIds: readonly string[], cause: unknown) {
    super(`other collectors took over ${runIds.join(', ')}`, { cause });
    this.runIds = new Set(runIds);
  }
}

/**
 * Appends records in one transaction and returns a receipt for each, in their order. The statement and its locking are
 * `log_write` in migrations/0001-log.sql; where collectors append, `log_write_fenced`. Readers get notice behind it.
 * @param topics must know every topic of the records.
 * @param sessions whether the pool's connections keep what was prepared on them: a pooler that lends them by the transaction
 *   would meet a statement's name on another one.
 * @throws RunsFenced.
 */
export async function appendRecords(
  pool: Pool,
  topics: ReadonlyMap<string, LogTopic>,
  records: readonly LogRecord[],
  grown: GrowthNotices,
  sessions: boolean,
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
  const keys = records.map(({ key }) => key);
  const values = [ids, counts, slots.map((slot) => slot + 1), ranks, keys, starts, lengths, bodies];
  const firsts = await append(pool, values, fencesOf(records), sessions);
  grown.notify(ids);
  return places.map(({ topic, partition }, i) => ({
    topic,
    partition,
    offset: (firsts[slots[i] ?? 0] ?? Number.NaN) + (ranks[i] ?? 0),
  }));
}

/** Returns the first offset in each partition. */
async function append(
  pool: Pool,
  values: readonly unknown[],
  fences: ReadonlyMap<string, number>,
  sessions: boolean,
): Promise<readonly number[]> {
  const fenced = fences.size > 0;
  const name = fenced ? 'log_write_fenced' : 'log_write';
  const all = fenced ? [[...fences.keys()], [...fences.values()], ...values] : [...values];
  const places = all.map((_, i) => `$${i + 1}`).join(', ');
  try {
    // Without a name Postgres plans each append for its values and copies half a megabyte of them: 11 us of its CPU per event,
    // 7.5 with one (batches of 500).
    const { rows } = await pool.query<{ firsts: string[] }>({
      ...(sessions ? { name } : {}),
      text: `select ${name}(${places})::text[] as firsts`,
      values: all,
    });
    return rows[0]?.firsts.map(Number) ?? [];
  } catch (error) {
    const { code, detail = '' } = (error ?? {}) as { code?: string; detail?: string }; // of pg
    throw code === FENCED ? new RunsFenced(detail.split(','), error) : error;
  }
}

/** The lowest epoch of each run that collectors append to. */
function fencesOf(records: readonly LogRecord[]): ReadonlyMap<string, number> {
  const fences = new Map<string, number>();
  for (const { fence } of records)
    if (fence) fences.set(fence.runId, Math.min(fence.epoch, fences.get(fence.runId) ?? fence.epoch));
  return fences;
}

export function placeOf(record: Pick<LogRecord, 'topic' | 'key' | 'partition'>, topics: ReadonlyMap<string, LogTopic>) {
  const { topic } = record;
  const partitionIds = topics.get(topic)?.partitionIds ?? [];
  const partition = partitionOf(record, partitionIds.length);
  const partitionId = partitionIds[partition];
  if (partitionId === undefined) throw new TypeError(`partition ${partition} of ${topic} was not looked up`);
  return { topic, partition, partitionId };
}
