import { sql } from 'kysely';
import { contentHash } from '../../events/codec.ts';
import type { Envelope } from '../../events/envelope.ts';
import type { Receipt } from '../../log/event-log.ts';
import type { Db } from '../../postgres/database.ts';

/** An event that is on record: where, and the digest of what it says. */
export interface Appended {
  readonly hash: string;
  readonly receipt: Receipt;
}

/** Finds which of the ids are in the journal. */
export async function findJournalled(db: Db, ids: readonly string[]): Promise<ReadonlyMap<string, Appended>> {
  if (ids.length === 0) return new Map();
  const { rows } = await sql<{ eventId: string; topic: string; partition: number; offset: number; body: string }>`
    select event_id, topic, partition, "offset", body from events where event_id = any(${ids}::uuid[])`.execute(db);
  return new Map(
    rows.map(({ eventId, topic, partition, offset, body }) => [
      eventId,
      { hash: recordHash(body), receipt: { topic, partition, offset } },
    ]),
  );
}

/** Returns the digest of a record's content. The bytes were checked against the schema when they were written. */
export function recordHash(body: string): string {
  return contentHash(JSON.parse(body) as Envelope); // written by `encode` from a parsed event
}
