import { isEventType } from '../../src/events/catalogue.ts';
import { stampOf } from '../../src/events/envelope.ts';
import { formatPosition } from '../../src/log/position.ts';
import { argumentId } from '../argument-id.ts';
import type { Context } from '../context.ts';
import { refusal } from '../errors.ts';
import type { SubscriptionEventsArgs } from '../generated/types.ts';
import type { EventDeliveryModel } from './event-delivery-model.ts';
import { argumentPosition, assertReached, logEnd } from './log-end.ts';
import { type TailItem, tail } from './tail.ts';

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
