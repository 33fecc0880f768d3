import { sql } from 'kysely';
import type { Db } from './database.ts';

/** The partitions of a topic, as recorded at its first start. */
export interface RecordedTopic {
  readonly partitions: number;
  /** Those that were seen to hold records. */
  readonly held: ReadonlySet<number>;
  /** When the last of `held` was first seen to, ms since 1970; null while none was. */
  readonly heldSince: number | null;
}

/** Reads the recorded partitions of every topic. */
export async function readRecordedPartitions(db: Db): Promise<ReadonlyMap<string, RecordedTopic>> {
  const { rows } = await sql<{ topic: string; partitions: number; held: readonly number[] | null; heldSince: number | null }>`
    select topic, count(*)::int as partitions, array_agg(partition) filter (where held_since is not null) as held,
           (extract(epoch from max(held_since)) * 1000)::bigint as held_since
    from recorded_partitions group by topic`.execute(db);
  return new Map(
    rows.map(({ topic, partitions, held, heldSince }) => [topic, { partitions, held: new Set(held ?? []), heldSince }]),
  );
}

/** Records partitions, and of each that holds records when that was first seen. What is recorded stays. */
export async function recordPartitions(
  db: Db,
  extents: ReadonlyMap<string, ReadonlyMap<number, { readonly next: number }>>,
): Promise<void> {
  const rows = [...extents].flatMap(([topic, partitions]) =>
    [...partitions].map(([partition, { next }]) => ({ topic, partition, isHeld: next > 0 })),
  );
  await sql`
    insert into recorded_partitions as r (topic, partition, held_since)
    select topic, partition, case when is_held then clock_timestamp() end
    from unnest(${rows.map(({ topic }) => topic)}::text[], ${rows.map(({ partition }) => partition)}::int[],
                ${rows.map(({ isHeld }) => isHeld)}::bool[]) as seen (topic, partition, is_held)
    on conflict (topic, partition) do update set held_since = excluded.held_since
    where r.held_since is null and excluded.held_since is not null`.execute(db);
}
