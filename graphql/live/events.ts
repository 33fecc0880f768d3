import { isEventType } from '../../src/events/catalogue.ts';
import { stampOf } from '../../src/events/envelope.ts';
import type { Offsets } from '../../src/log/event-log.ts';
import { formatPosition } from '../../src/log/position.ts';
import type { Db } from '../../src/postgres/database.ts';
import type { Notices } from '../../src/postgres/notices.ts';
import { type JournalRecord, readTail, type TailFilter } from '../../src/projections/journal/read-events.ts';
import { argumentId } from '../argument-id.ts';
import type { Context } from '../context.ts';
import { refusal } from '../errors.ts';
import type { SubscriptionEventsArgs } from '../generated/types.ts';
import type { EventDeliveryModel } from './event-delivery-model.ts';
import { argumentPosition, assertReached, logEnd } from './log-end.ts';

/**
 * Answers `Subscription.events`. @throws BAD_USER_INPUT on a position, type or id that is none, and on a position beyond the log.
 */
export async function subscribeToEvents(
  args: Partial<SubscriptionEventsArgs>,
  { sources, signal, beginSubscription }: Context,
): Promise<AsyncIterable<{ events: EventDeliveryModel }>> {
  const { after, types, run, tree } = args;
  for (const type of types ?? []) {
    if (!isEventType(type))
      throw refusal(
        'BAD_USER_INPUT',
        `types: ${JSON.stringify(type.slice(0, 80))} is no event type; \`espalier schemas\` lists them`,
        {
          argument: 'types',
        },
      );
  }
  const filter = {
    ...(types ? { types } : {}),
    ...(run ? { runId: argumentId('run', run) } : {}),
    ...(tree ? { treeId: argumentId('tree', tree) } : {}),
  };
  const ends = await logEnd(sources);
  const from = typeof after === 'string' ? argumentPosition('after', after) : ends;
  assertReached('after', from, ends); // beyond it every event would be passed over in silence until the log has come there
  const leave = beginSubscription();
  signal.addEventListener('abort', leave, { once: true });
  return mapped(tail(sources.tails, sources.notices, from, filter, signal), leave);
}

/** Maps by hand: a generator around the tail would hold back `return` until the tail's next event. */
function mapped(
  items: AsyncIterableIterator<TailItem, undefined>,
  onEnd: () => void,
): AsyncIterable<{ events: EventDeliveryModel }> {
  const end = { done: true, value: undefined } as const;
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        const item = await items.next().catch((error: unknown) => {
          onEnd();
          throw error;
        });
        if (item.done) onEnd();
        return item.done ? end : { done: false, value: { events: toDelivery(item.value) } };
      },
      async return() {
        onEnd();
        await items.return?.();
        return end;
      },
    }),
  };
}

function toDelivery({ record, position }: TailItem): EventDeliveryModel {
  const body = JSON.parse(record.body) as Envelope; // the journal holds only what the codec decoded
  return {
    id: body.id,
    type: body.type,
    schemaVersion: body.schemaVersion,
    stream: body.stream,
    streamPosition: record.position,
    sequence: body.sequence,
    occurredAt: body.occurredAt,
    receivedAt: record.receivedAt?.toISOString() ?? null,
    ...stampOf(body),
    runId: body.correlationId,
    causationId: body.causationId,
    producer: `${body.producer.name}@${body.producer.version}`,
    data: body.data,
    topic: record.topic,
    partition: record.partition,
    offset: record.offset,
    requeuedFrom: record.requeuedFrom,
    position: formatPosition(position),
  };
}

/** The envelope as appended: an old event keeps its own schema version and data here. */
interface Envelope {
  readonly id: string;
  readonly type: string;
  readonly schemaVersion: number;
  readonly stream: string;
  readonly sequence: number;
  readonly occurredAt: string;
  readonly correlationId: string;
  readonly causationId: string | null;
  readonly producer: { readonly name: string; readonly version: string };
  readonly principal?: string;
  readonly project?: string;
  readonly data: unknown;
}

/** An event of the journal and the position just after it: every event up to it and none after it is seen. */
interface TailItem {
  readonly record: JournalRecord;
  readonly position: Offsets;
}

const SLICE = 64; // events of one partition in one read: bodies reach 1 MiB, and a slow reader's share waits in memory
const POLL_MS = 1_000; // the net below lost notices; a notice wakes at once

/**
 * Follows the journal from a position, without gap or repeat. Reads the next slice only when the one before is handed on, so a
 * slow reader costs one slice. Ends when the iterator is returned or the signal aborts, also in the middle of a wait.
 */
function tail(
  db: Db,
  notices: Pick<Notices, 'count' | 'beyond'>,
  from: Offsets,
  filter: TailFilter,
  signal: AbortSignal,
): AsyncIterableIterator<TailItem, undefined> {
  const left = new AbortController();
  const items = follow(db, notices, from, filter, AbortSignal.any([signal, left.signal]));
  const end = { done: true, value: undefined } as const;
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next: () => items.next(),
    // A generator that waits answers `return` only after its wait; the controller ends the wait.
    async return() {
      left.abort();
      await items.return(undefined);
      return end;
    },
    async throw(error) {
      left.abort();
      await items.return(undefined);
      throw error;
    },
  };
}

async function* follow(
  db: Db,
  notices: Pick<Notices, 'count' | 'beyond'>,
  from: Offsets,
  filter: TailFilter,
  signal: AbortSignal,
): AsyncGenerator<TailItem, undefined> {
  const place = new Map([...from].map(([topic, partitions]) => [topic, new Map(partitions)]));
  while (!signal.aborted) {
    const { count } = notices; // before the look, so that an event after it wakes us
    const { records, ends } = await readTail(db, place, filter, SLICE);
    const cut = new Map<string, number>();
    for (const record of records) {
      advance(place, record.topic, record.partition, record.offset + 1);
      yield { record, position: copy(place) };
      const key = `${record.topic}.${record.partition}`;
      cut.set(key, (cut.get(key) ?? 0) + 1);
      if (signal.aborted) return undefined;
    }
    let more = false;
    for (const [topic, partitions] of ends) {
      for (const [partition, end] of partitions) {
        // A full slice may have left events below the end; any other has shown all that match, so the rest need not be looked at
        // again.
        if (cut.get(`${topic}.${partition}`) === SLICE) more = true;
        else advance(place, topic, partition, end);
      }
    }
    if (!more) await notices.beyond(count, POLL_MS, signal);
  }
  return undefined;
}

/** Moves forward only: a journal that was set back (an older database) is behind the reader until it has caught up. */
function advance(place: Map<string, Map<number, number>>, topic: string, partition: number, next: number): void {
  const partitions = place.get(topic) ?? new Map<number, number>();
  place.set(topic, partitions.set(partition, Math.max(partitions.get(partition) ?? 0, next)));
}

function copy(place: Offsets): Offsets {
  return new Map([...place].map(([topic, partitions]) => [topic, new Map(partitions)]));
}
