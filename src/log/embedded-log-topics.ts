import type { openPool } from '../postgres/pool.ts';
import { logFault } from './embedded-log-fault.ts';
import { type Extent, type Extents, LogError, type Offsets } from './event-log.ts';

export type Pool = ReturnType<typeof openPool>;

/** A topic as the tables know it; `partitionIds[p]` is the row of partition p. Neither changes once it is there. */
export interface LogTopic {
  readonly topic: string;
  readonly topicId: number;
  readonly partitionIds: readonly number[];
}

const NAME = /^[A-Za-z0-9._-]{1,249}$/; // what Kafka takes, so that a name that works here works there
const MOST_PARTITIONS = 1_000;

/** Creates the topics that are missing. One that exists keeps its partitions: another number would move its keys. */
export async function ensureTopics(pool: Pool, topics: readonly string[], partitions: number): Promise<void> {
  if (!Number.isInteger(partitions) || partitions < 1 || partitions > MOST_PARTITIONS) {
    throw new RangeError(`a topic has 1 to ${MOST_PARTITIONS} partitions, not ${partitions}`);
  }
  const bad = topics.find((topic) => !NAME.test(topic));
  if (bad !== undefined)
    throw new RangeError(`${JSON.stringify(bad.slice(0, 80))} is no topic name: letters, digits, dot, _ and -, at most 249`);
  // Sorted, so that two processes that create several at the same moment wait for each other in one order.
  const sorted = [...new Set(topics)].sort();
  await pool
    .query(
      `with added as (
         insert into log_topics (topic, partitions) select unnest($1::text[]), $2 on conflict (topic) do nothing returning topic_id
       )
       insert into log_partitions (topic_id, partition) select topic_id, generate_series(0, $2 - 1) from added`,
      [sorted, partitions],
    )
    .catch((error: unknown) => {
      throw logFault(`creating ${sorted.join(', ')}`, error);
    });
}

/** Reads what is known of the topics; those that do not exist are left out. */
export async function findTopics(pool: Pool, topics: readonly string[]): Promise<ReadonlyMap<string, LogTopic>> {
  const { rows } = await pool.query<{ topic: string; topic_id: number; ids: number[] }>(
    `select t.topic, t.topic_id, array_agg(p.partition_id order by p.partition) as ids
     from log_topics t join log_partitions p using (topic_id) where t.topic = any($1) group by t.topic_id`,
    [topics],
  );
  return new Map(rows.map(({ topic, topic_id, ids }) => [topic, { topic, topicId: topic_id, partitionIds: ids }]));
}

/** Reads the log end of every partition. @throws LogError `unknown-topic` that names those that do not exist. */
export async function readEnds(pool: Pool, topics: readonly string[]): Promise<Offsets> {
  const { rows } = await pool
    .query<{ topic: string; partition: number; next_offset: number }>(
      `select t.topic, p.partition, p.next_offset from log_topics t join log_partitions p using (topic_id)
       where t.topic = any($1) order by t.topic, p.partition`,
      [topics],
    )
    .catch((error: unknown) => {
      throw logFault('reading the ends of the log', error);
    });
  const ends = new Map<string, Map<number, number>>();
  for (const { topic, partition, next_offset } of rows) {
    const partitions = ends.get(topic) ?? new Map<number, number>();
    ends.set(topic, partitions.set(partition, next_offset));
  }
  refuseUnknown(topics, ends);
  return ends;
}

/** Reads what every partition holds; topics that do not exist are left out. */
export async function readExtents(pool: Pool, topics: readonly string[]): Promise<Extents> {
  const { rows } = await pool
    .query<{ topic: string; partition: number; first: number; next: number }>(
      `select t.topic, p.partition, p.next_offset as next,
              coalesce((select min("offset") from log_records r where r.partition_id = p.partition_id), p.next_offset) as first
       from log_topics t join log_partitions p using (topic_id) where t.topic = any($1) order by t.topic, p.partition`,
      [topics],
    )
    .catch((error: unknown) => {
      throw logFault('reading what the log holds', error);
    });
  const extents = new Map<string, Map<number, Extent>>();
  for (const { topic, partition, first, next } of rows)
    extents.set(topic, (extents.get(topic) ?? new Map<number, Extent>()).set(partition, { first, next }));
  return extents;
}

/** Reads which partitions no member of a group reads. */
export async function readUnread(
  pool: Pool,
  group: string,
  topics: readonly string[],
): Promise<ReadonlyMap<string, readonly number[]>> {
  const { rows } = await pool
    .query<{ topic: string; unread: number[] }>(
      `select t.topic, array_agg(p.partition order by p.partition) as unread
       from log_topics t join log_partitions p using (topic_id)
       where t.topic = any($2) and p.partition_id not in (
         select l.objid::int8 from pg_locks l join log_groups g on g.group_id = l.classid::int8
         where g.name = $1 and l.locktype = 'advisory' and l.objsubid = 2 and l.granted
           and l.database = (select oid from pg_database where datname = current_database()))
       group by t.topic`,
      [group, topics],
    )
    .catch((error: unknown) => {
      throw logFault(`asking who reads the log as group ${group}`, error);
    });
  return new Map(rows.map(({ topic, unread }) => [topic, unread]));
}

/** @throws LogError `unknown-topic` that names the topics which `known` lacks. */
export function refuseUnknown(topics: readonly string[], known: ReadonlyMap<string, unknown>): void {
  const unknown = topics.filter((topic) => !known.has(topic));
  if (unknown.length > 0) throw new LogError('unknown-topic', `no such topic: ${unknown.join(', ')}; ensureTopics creates it`);
}
