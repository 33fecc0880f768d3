import { sql } from 'kysely';
import { clearHash, contentHash } from '../../events/codec.ts';
import type { Envelope } from '../../events/envelope.ts';
import type { Receipt } from '../../log/event-log.ts';
import type { Db } from '../../postgres/database.ts';
import { unsealerOf } from '../../postgres/stream-keys.ts';
import { openBody } from './open-body.ts';

/** An event that is on record: where, and the digest of what it says. */
export interface Appended {
  /** What `contentHash` says of it; of a forgotten event, what `clearHash` says. */
  readonly hash: string;
  readonly forgotten: boolean;
  readonly receipt: Receipt;
}

/** Finds which of the ids are in the journal. */
export async function findJournalled(db: Db, ids: readonly string[]): Promise<ReadonlyMap<string, Appended>> {
  if (ids.length === 0) return new Map();
  const { rows } = await sql<{ eventId: string; topic: string; partition: number; offset: number; body: string }>`
    select event_id, topic, partition, "offset", body from events where event_id = any(${ids}::uuid[])`.execute(db);
  const unseal = await unsealerOf(
    db,
    rows.map(({ body }) => body),
  );
  return new Map(
    rows.map(({ eventId, topic, partition, offset, body }) => {
      const event = JSON.parse(openBody(body, unseal)) as Envelope; // written by `encode` from a parsed event
      const forgotten = event.sealed !== undefined;
      const hash = forgotten ? clearHash(event) : contentHash(event);
      return [eventId, { hash, forgotten, receipt: { topic, partition, offset } }];
    }),
  );
}
