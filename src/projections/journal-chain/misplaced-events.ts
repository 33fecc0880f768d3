import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

export interface Misplaced {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly eventId: string;
}

/** The first of them, by place, and how many there are. */
export interface MisplacedEvents {
  readonly first: readonly Misplaced[];
  readonly all: number;
}

/**
 * Finds events where the journal never was: in a partition without a cursor, at or behind the cursor's offset. Cursor and events
 * come from one statement, one snapshot, and the journal moves both in one transaction: of what is appended meanwhile nothing is
 * found. A join, since under `not exists` next to an `or` Postgres looks the cursor up for each event (300,000 in 2.4 s, joined
 * 0.7).
 */
export async function readStrays(db: Db, limit: number): Promise<MisplacedEvents> {
  const { rows } = await sql<Row>`
    select e.topic, e.partition, e."offset", e.event_id, count(*) over () as "all"
    from events e
    left join (cursors c join projections p on p.name = c.projection and p.version = c.version)
      on c.projection = 'journal' and c.topic = e.topic and c.partition = e.partition
    where c.next_offset is null or e."offset" < 0 or e."offset" >= c.next_offset
    order by e.topic, e.partition, e."offset" limit ${limit}`.execute(db);
  return found(rows);
}

/**
 * Finds events whose position in their stream cannot be: none is before it and it is not the first (positions run from 1 without
 * a hole), or the one before it lies behind it in the same partition.
 */
export async function readMisnumbered(db: Db, limit: number): Promise<MisplacedEvents> {
  const { rows } = await sql<Row>`
    select e.topic, e.partition, e."offset", e.event_id, count(*) over () as "all"
    from events e left join events b on b.stream = e.stream and b.position = e.position - 1
    where (b.stream is null and e.position <> 1)
       or (b.topic = e.topic and b.partition = e.partition and b."offset" > e."offset")
    order by e.topic, e.partition, e."offset" limit ${limit}`.execute(db);
  return found(rows);
}

type Row = Misplaced & { readonly all: number };

function found(rows: readonly Row[]): MisplacedEvents {
  return { first: rows, all: rows[0]?.all ?? 0 };
}
