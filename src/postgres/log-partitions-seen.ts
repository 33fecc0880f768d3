import { sql } from 'kysely';
import type { Db } from './database.ts';

/** Notes the partitions that hold records, each with the time at which that was first seen. */
export async function noteHeldPartitions(
  db: Db,
  extents: ReadonlyMap<string, ReadonlyMap<number, { readonly next: number }>>,
): Promise<void> {
  const held = [...extents].flatMap(([topic, partitions]) =>
    [...partitions].flatMap(([partition, { next }]) => (next > 0 ? [{ topic, partition }] : [])),
  );
  if (held.length === 0) return;
  await sql`
    insert into log_partitions_seen (topic, partition)
    select topic, partition from unnest(${held.map(({ topic }) => topic)}::text[], ${held.map(({ partition }) => partition)}::int[])
      as h(topic, partition)
    where not exists (select from log_partitions_seen s where (s.topic, s.partition) = (h.topic, h.partition))
    on conflict do nothing`.execute(db);
}

/** The partitions of a topic that were seen to hold records, and when the last of them first was, ms since 1970. */
export interface HeldSince {
  readonly at: number;
  readonly partitions: ReadonlySet<number>;
}

/** Returns, by topic, which partitions were seen to hold records, and when. */
export async function readHeldSince(db: Db): Promise<ReadonlyMap<string, HeldSince>> {
  const { rows } = await sql<{ topic: string; at: number; partitions: readonly number[] }>`
    select topic, (extract(epoch from max(seen_at)) * 1000)::bigint as at, array_agg(partition) as partitions
    from log_partitions_seen group by topic`.execute(db);
  return new Map(rows.map(({ topic, at, partitions }) => [topic, { at, partitions: new Set(partitions) }]));
}
