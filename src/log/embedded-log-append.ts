import type { QueuedRecord } from './append-queue.ts';
import type { LogTopic, Pool } from './embedded-log-topics.ts';
import { LogError } from './event-log.ts';

const FENCED = 'ESPFE'; // the SQLSTATE of log_write_fenced

/**
 * Appends records in one transaction. The statement and its locking are `log_write` in migrations/0001-log.sql; where collectors
 * append, `log_write_fenced`. @param topics must know every topic of the records. @param sessions whether the pool's connections
 * keep what was prepared on them: a pooler that lends them by the transaction would meet a statement's name on another one.
 * @throws LogError `fenced` when another collector took over a run.
 */
export async function appendRecords(
  pool: Pool,
  topics: ReadonlyMap<string, LogTopic>,
  records: readonly QueuedRecord[],
  sessions: boolean,
): Promise<{ readonly offsets: readonly number[]; readonly partitionIds: readonly number[] }> {
  const places = records.map(({ record, partition }) => partitionIdOf(topics, record.topic, partition));
  const ids = [...new Set(places)].sort((a, b) => a - b);
  const slotOf = new Map(ids.map((id, i) => [id, i]));
  const counts = ids.map(() => 0);
  const slots = places.map((id) => slotOf.get(id) ?? 0);
  const ranks = slots.map((slot) => {
    const rank = counts[slot] ?? 0;
    counts[slot] = rank + 1;
    return rank;
  });
  const lengths = records.map(({ record }) => record.value.byteLength);
  let end = 0;
  const starts = lengths.map((length) => {
    end += length;
    return end - length;
  });
  const bodies = Buffer.concat(
    records.map(({ record }) => record.value),
    end,
  );
  const keys = records.map(({ record }) => record.key);
  const values = [ids, counts, slots.map((slot) => slot + 1), ranks, keys, starts, lengths, bodies];
  const firsts = await append(pool, values, fencesOf(records), sessions);
  return { offsets: slots.map((slot, i) => (firsts[slot] ?? Number.NaN) + (ranks[i] ?? 0)), partitionIds: ids };
}

export function partitionIdOf(topics: ReadonlyMap<string, LogTopic>, topic: string, partition: number): number {
  const id = topics.get(topic)?.partitionIds[partition];
  if (id === undefined) throw new TypeError(`partition ${partition} of ${topic} was not looked up`);
  return id;
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
    if ((error as { code?: unknown } | null)?.code !== FENCED) throw error;
    throw new LogError('fenced', 'another collector took over the run', { cause: error });
  }
}

/** The lowest epoch of each run that collectors append to. */
function fencesOf(records: readonly QueuedRecord[]): ReadonlyMap<string, number> {
  const fences = new Map<string, number>();
  for (const { record } of records) {
    const { fence } = record;
    if (fence) fences.set(fence.runId, Math.min(fence.epoch, fences.get(fence.runId) ?? fence.epoch));
  }
  return fences;
}
