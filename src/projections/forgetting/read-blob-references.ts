import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

/**
 * Reads the names of the blobs that waiting records of the outbox refer to. To be read before the ends of the log: what is
 * relayed meanwhile lies below them.
 */
export async function readWaitingBlobs(db: Db): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ name: string }>`
    select distinct m[1] as name from public.outbox o, regexp_matches(convert_from(o.value, 'utf8'), '[0-9a-f]{64}', 'g') as m
    where o.relayed_at is null`.execute(db);
  return new Set(rows.map(({ name }) => name));
}

/**
 * Reads the names of all blobs that a record refers to: the journal's, and those in any quarantine, readable or not. What a
 * destroyed key sealed refers to nothing: the record keeps the names, and nobody can ask for them.
 */
export async function readReferencedBlobs(db: Db): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ name: string }>`
    with records as (
      select body from events where position('"blob":"' in body) > 0 or position(',"blobs":["' in body) > 0
      union all
      select encode(body, 'escape') from public.quarantine -- some are no UTF-8
      where position('"blob":"'::bytea in body) > 0 or position(',"blobs":["'::bytea in body) > 0
    )
    select distinct m[1] as name from records r, regexp_matches(r.body, '"blob":"([0-9a-f]{64})"', 'g') as m
    union
    select m[1] from records r
    cross join lateral (select substring(r.body from '"sealed":\\{"key":"([0-9a-f-]{36})"') as key_id,
                               substring(r.body from '"blobs":\\[("[0-9a-f",]*")\\]') as names) s
    cross join lateral regexp_matches(s.names, '[0-9a-f]{64}', 'g') as m
    where not exists (select from public.stream_keys k where k.key_id::text = s.key_id and k.secret is null)`.execute(db);
  return new Set(rows.map(({ name }) => name));
}
