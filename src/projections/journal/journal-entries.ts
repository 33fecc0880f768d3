import { sql } from 'kysely';
import { clearHash, contentHash } from '../../events/codec.ts';
import { entityOf, factOf } from '../../events/entity-of.ts';
import { type Envelope, identityOf } from '../../events/envelope.ts';
import type { Receipt } from '../../log/event-log.ts';
import type { Db } from '../../postgres/database.ts';
import { unsealerOf } from '../../postgres/stream-keys.ts';
import { openBody } from './read-bodies.ts';

/** An event that is on record: where, and the digest of what it says. */
export interface JournalEntry {
  readonly eventId: string;
  /** What `contentHash` says of it; of a forgotten event, what `clearHash` says. */
  readonly hash: string;
  readonly forgotten: boolean;
  readonly receipt: Receipt;
}

/** What an event takes in its stream: its id, and the fact that it alone states there. */
export function uniqueKeysOf(event: Envelope): readonly string[] {
  const fact = factOf(event);
  return fact === null ? [identityOf(event)] : [identityOf(event), fact];
}

/** Finds what the journal holds of what some events take, by `uniqueKeysOf`. */
export async function findJournalEntries(db: Db, events: readonly Envelope[]): Promise<ReadonlyMap<string, JournalEntry>> {
  if (events.length === 0) return new Map();
  const entities = events.map(entityOf);
  const { rows } = await sql<Receipt & { at: number; ofFact: boolean; eventId: string; body: string }>`
    with asked as materialized (
      select * from unnest(
        ${events.map(({ stream }) => stream)}::uuid[], ${events.map(({ id }) => id)}::uuid[],
        ${events.map(({ type }) => type)}::text[], ${entities.map((entity) => entity?.id ?? null)}::uuid[]
      ) with ordinality as a (stream, event_id, type, entity_id, at))
    select a.at::int, false as of_fact, e.event_id, e.topic, e.partition, e."offset", e.body from asked a
    join events e on e.event_id = a.event_id and e.stream = a.stream
    union all
    select a.at::int, true, e.event_id, e.topic, e.partition, e."offset", e.body from asked a
    cross join lateral (
      select e.* from events e where e.stream = a.stream and e.entity_id = a.entity_id and e.type = a.type
      order by e.topic, e.partition, e."offset" limit 1) e`.execute(db);
  const unseal = await unsealerOf(
    db,
    rows.map(({ body }) => body),
  );
  return new Map(
    rows.flatMap(({ at, ofFact, eventId, topic, partition, offset, body }): [string, JournalEntry][] => {
      const asked = events[at - 1];
      const key = asked && (ofFact ? factOf(asked) : identityOf(asked));
      if (!key) return [];
      const event = JSON.parse(openBody(body, unseal)) as Envelope; // written by `encode` from a parsed event
      const forgotten = event.sealed !== undefined;
      const hash = forgotten ? clearHash(event) : contentHash(event);
      return [[key, { eventId, hash, forgotten, receipt: { topic, partition, offset } }]];
    }),
  );
}
