import { sql } from 'kysely';
import { clearHash, contentHash } from '../../events/codec.ts';
import { type Envelope, identityOf } from '../../events/envelope.ts';
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

/** Finds which of the events are in the journal, by `identityOf`. */
export async function findJournalled(
  db: Db,
  events: readonly { readonly stream: string; readonly id: string }[],
): Promise<ReadonlyMap<string, Appended>> {
  if (events.length === 0) return new Map();
  const { rows } = await sql<Receipt & { id: string; stream: string; body: string }>`
    select e.event_id as id, e.stream, e.topic, e.partition, e."offset", e.body from events e
    join unnest(${events.map(({ id }) => id)}::uuid[], ${events.map(({ stream }) => stream)}::uuid[]) as asked (id, stream)
      on e.event_id = asked.id and e.stream = asked.stream`.execute(db);
  const unseal = await unsealerOf(
    db,
    rows.map(({ body }) => body),
  );
  return new Map(
    rows.map(({ id, stream, topic, partition, offset, body }) => {
      const event = JSON.parse(openBody(body, unseal)) as Envelope; // written by `encode` from a parsed event
      const forgotten = event.sealed !== undefined;
      const hash = forgotten ? clearHash(event) : contentHash(event);
      return [identityOf({ id, stream }), { hash, forgotten, receipt: { topic, partition, offset } }];
    }),
  );
}
