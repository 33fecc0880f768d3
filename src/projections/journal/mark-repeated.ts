import { sql } from 'kysely';
import { entityOf, factOf } from '../../events/entity-of.ts';
import { type Delivery, type Envelope, identityOf } from '../../events/envelope.ts';
import type { Db } from '../../postgres/database.ts';
import { growsTree } from '../owners/non-owner-scope.ts';
import type { Slice } from '../slice.ts';
import { isRepetition } from './fold-batch.ts';
import { readBodiesOf } from './read-bodies.ts';

/**
 * Marks, in slices that are each in offset order, the records that come after the first record of their event or of the fact that
 * they state (`entityOf`), and those that grow a tree for another run than the one that opened it. They repeat that record or
 * contradict it, and have no effect; the journal, which is offered them, tells which. Only the log decides, so that live read
 * models, rebuilds and snapshots agree, also when a read model refused the first record: that one takes effect by its requeue. The
 * journal must have folded what precedes the slices in their partitions.
 */
export async function markRepeated<S extends Slice>(db: Db, slices: readonly S[]): Promise<readonly S[]> {
  const deliveries = slices.flatMap(({ items }) => items.flatMap((item) => (item.kind === 'event' ? [item.delivery] : [])));
  const effective = deliveries.filter(({ supersededBy }) => supersededBy === undefined);
  const first = await readFirst(db, effective);
  const again = occurringAgain(effective.map(ownKeyOf));
  const marks = new Map<Delivery, number>();
  for (const delivery of effective) {
    const { offset, event, body } = delivery;
    const own = ownKeyOf(delivery);
    // A requeued event is the record that waited, which precedes it under its id.
    const keys = [...(event.released ? [] : [own]), ...factKeyOf(delivery)];
    const earlier = keys
      .flatMap((key) => first.get(key) ?? [])
      .find((record) => record.offset < offset && !(event.released && record.eventId === event.id));
    const opening = growsTree(event) ? first.get(keyOf(delivery, openingOf(event))) : undefined;
    const isForeign = opening !== undefined && opening.offset < offset && opening.correlationId !== event.correlationId;
    const record = { offset, eventId: event.id, correlationId: event.correlationId, body };
    if (earlier) {
      marks.set(delivery, earlier.offset);
      // The journal keeps what states a fact again, and its id is taken then.
      if (again.has(own) && !first.has(own) && (await states(db, earlier, delivery))) first.set(own, record);
    } else if (isForeign) marks.set(delivery, opening.offset);
    else for (const key of [own, ...keys]) if (!first.has(key)) first.set(key, record);
  }
  if (marks.size === 0) return slices;
  return slices.map((slice) => ({
    ...slice,
    items: slice.items.map((item) => {
      const repeats = item.kind === 'event' ? marks.get(item.delivery) : undefined;
      return item.kind !== 'event' || repeats === undefined ? item : { ...item, delivery: { ...item.delivery, repeats } };
    }),
  }));
}

function occurringAgain(keys: readonly string[]): ReadonlySet<string> {
  const met = new Set<string>();
  return new Set(keys.filter((key) => met.has(key) || !met.add(key)));
}

/** The fact by which a tree belongs to a run: `factOf` of its TreeOpened. */
function openingOf({ stream }: Envelope): string {
  return `${stream} TreeOpened ${stream}`;
}

interface First {
  readonly offset: number;
  readonly eventId: string;
  readonly correlationId: string;
  /** The record; undefined where the journal has it. */
  readonly body?: string;
}

/** Returns whether a record says what the first one of its fact said. */
async function states(db: Db, { eventId, body }: First, delivery: Delivery): Promise<boolean> {
  const named = { stream: delivery.event.stream, id: eventId };
  const before = body ?? (await readBodiesOf(db, [named])).get(identityOf(named));
  return before !== undefined && isRepetition(before, delivery);
}

/** Reads the first record of each event, fact and opening of a tree from the journal: of its partition, where there is an order. */
async function readFirst(db: Db, deliveries: readonly Delivery[]): Promise<Map<string, First>> {
  if (deliveries.length === 0) return new Map();
  const column = <T>(of: (delivery: Delivery) => T) => deliveries.map(of);
  const { rows } = await sql<First & { at: number; of: 'event' | 'fact' | 'opening' }>`
    with asked as materialized (
      select * from unnest(
        ${column(({ topic }) => topic)}::text[], ${column(({ partition }) => partition)}::int[],
        ${column(({ event }) => event.stream)}::uuid[], ${column(({ event }) => event.id)}::uuid[],
        ${column(({ event }) => event.type)}::text[], ${column(({ event }) => entityOf(event)?.id ?? null)}::uuid[]
      ) with ordinality as a (topic, partition, stream, event_id, type, entity_id, at))
    select a.at::int, 'event' as of, e."offset", e.event_id, e.correlation_id from asked a
    cross join lateral (
      select e."offset", e.event_id, e.correlation_id from events e
      where e.event_id = a.event_id and e.stream = a.stream and e.topic = a.topic and e.partition = a.partition) e
    union all
    select a.at::int, 'fact', e."offset", e.event_id, e.correlation_id from asked a
    cross join lateral (
      select e."offset", e.event_id, e.correlation_id from events e
      where e.stream = a.stream and e.entity_id = a.entity_id and e.type = a.type and e.topic = a.topic and e.partition = a.partition
      order by e."offset" limit 1) e
    union all
    select a.at::int, 'opening', e."offset", e.event_id, e.correlation_id from (select distinct on (stream) * from asked where topic = 'trees') a
    cross join lateral (
      select e."offset", e.event_id, e.correlation_id from events e
      where e.stream = a.stream and e.entity_id = a.stream and e.type = 'TreeOpened' and e.topic = a.topic and e.partition = a.partition
      order by e."offset" limit 1) e`.execute(db);
  const first = new Map<string, First>();
  const keyFor = { event: identityOf, fact: factOf, opening: openingOf };
  for (const { at, of, ...record } of rows) {
    const delivery = deliveries[at - 1];
    const key = delivery && keyFor[of](delivery.event);
    if (delivery && key) first.set(keyOf(delivery, key), record);
  }
  return first;
}

function ownKeyOf(delivery: Delivery): string {
  return keyOf(delivery, identityOf(delivery.event));
}

function factKeyOf(delivery: Delivery): readonly string[] {
  const fact = factOf(delivery.event);
  return fact === null ? [] : [keyOf(delivery, fact)];
}

function keyOf({ topic, partition }: Delivery, what: string): string {
  return `${topic} ${partition} ${what}`;
}
