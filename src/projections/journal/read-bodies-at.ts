import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { unsealerOf } from '../../postgres/stream-keys.ts';
import { openBody } from './open-body.ts';

/** Reads the records of the journal at places `topic.partition@offset`, their payloads opened, in one statement. */
export async function readBodiesAt(db: Db, places: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const parsed = places.map((place) => /^(.*)\.(\d+)@(\d+)$/.exec(place) ?? []);
  const [topics, partitions, offsets] = [1, 2, 3].map((part) => parsed.map((each) => each[part] ?? null));
  const { rows } = await sql<{ readonly place: string; readonly body: string }>`
    select topic || '.' || partition || '@' || "offset" as place, body from events
    where (topic, partition, "offset") in (select * from unnest(${topics}::text[], ${partitions}::int[], ${offsets}::bigint[]))`.execute(
    db,
  );
  const unseal = await unsealerOf(
    db,
    rows.map(({ body }) => body),
  );
  return new Map(rows.map(({ place, body }) => [place, openBody(body, unseal)]));
}
