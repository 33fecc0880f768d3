import type { BlobStore } from '../blobs/blob-store.ts';
import { catalogue, type DataOf, type EventType, type Topic } from '../events/catalogue.ts';
import type { Envelope, Producer, Stamp } from '../events/envelope.ts';
import { newId } from '../events/new-id.ts';
import { streamOf, streamTaken } from '../events/stream-of.ts';
import type { EventLog, LogRecord, Receipt } from '../log/event-log.ts';
import { EventRefused, prepareEvents } from './prepare-events.ts';

/** An event before the appender fills in its metadata. With a derived `id`, a repeated append is recognised by every reader. */
export type Draft<T extends EventType = EventType> = T extends EventType
  ? {
      readonly type: T;
      readonly data: DataOf<T>;
      readonly id?: string;
      readonly correlationId: string;
      readonly causationId?: string | null;
      readonly occurredAt?: string;
      /** Where text was replaced before, as an imported event says. */
      readonly repaired?: readonly string[];
    }
  : never;

export interface Appender {
  /**
   * Completes drafts, prepares and appends them in order. Resolves when they are durable.
   * @throws EventRefused when one does not fit its schema, or names a stream of another topic: then none of the call is appended.
   */
  append(drafts: readonly Draft[]): Promise<readonly Receipt[]>;
}

export interface AppenderOptions {
  readonly log: EventLog;
  readonly blobs: BlobStore;
  readonly producer: Producer;
  /** Who appends, and for which project. */
  readonly stamp: Stamp;
  /** Returns the project that a stream belongs to, asked once of each; null for that of `stamp`, as where this is left out. */
  readonly projectOf?: (draft: Draft) => Promise<string | null>;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** The epoch of the collector that appends: its events name it, and have no effect once a later one took over the run. */
  readonly epoch?: number;
  /**
   * Returns the next sequence of this producer in a stream of a topic that it may have written before; default: 0 for every
   * stream. It may throw where the record holds the stream in another topic.
   */
  readonly sequenceOf?: (stream: string, topic: Topic) => Promise<number>;
}

/** Opens an appender: it numbers the events of each stream and hands them to the log in the order of the calls. */
export function createAppender(options: AppenderOptions): Appender {
  const { log, blobs, producer, stamp, clock } = options;
  const next = new Map<string, { readonly sequence: number; readonly topic: Topic; readonly project: string }>();
  let tail: Promise<unknown> = Promise.resolve();

  async function complete(drafts: readonly Draft[]): Promise<{ events: Envelope[]; counters: typeof next }> {
    const events: Envelope[] = [];
    const counters: typeof next = new Map();
    for (const draft of drafts) {
      const stream = streamOf(draft.type, draft.data) ?? ''; // a draft without it is refused by its schema
      const { topic, stream: field } = catalogue[draft.type];
      const before = counters.get(stream) ?? next.get(stream);
      if (before && before.topic !== topic) {
        const { message, remedy } = streamTaken(stream, before.topic, topic);
        throw new EventRefused(draft.type, `data.${field}`, `is taken: ${message}; ${remedy}`);
      }
      const sequence = before?.sequence ?? (await options.sequenceOf?.(stream, topic)) ?? 0;
      const project = before?.project ?? (await options.projectOf?.(draft)) ?? stamp.project;
      counters.set(stream, { sequence: sequence + 1, topic, project });
      const event = {
        id: draft.id ?? newId(),
        type: draft.type,
        schemaVersion: catalogue[draft.type].version,
        stream,
        sequence,
        occurredAt: draft.occurredAt ?? new Date(clock()).toISOString(),
        correlationId: draft.correlationId,
        causationId: draft.causationId ?? null,
        producer,
        principal: stamp.principal,
        project,
        ...(draft.repaired ? { repaired: draft.repaired } : {}),
        data: draft.data,
      } as Envelope; // type and data come from one draft, whose union ties them
      events.push(options.epoch === undefined ? event : { ...event, epoch: options.epoch });
    }
    return { events, counters };
  }

  async function prepare(drafts: readonly Draft[]): Promise<readonly LogRecord[]> {
    const { events, counters } = await complete(drafts);
    const records = await prepareEvents(events, blobs, 'as-stamped');
    // Only now: a refused draft uses up no number, or readers would see a hole where nothing is missing.
    for (const [stream, counter] of counters) next.set(stream, counter);
    return records;
  }

  return {
    append(drafts) {
      // Numbering and preparing run one call after the other, so that sequence and log order agree; the log call itself is not
      // waited for by the next caller: the adapter keeps the order of calls and coalesces them.
      const prepared = tail.then(() => prepare(drafts)).then((records) => ({ receipts: log.append(records) }));
      tail = prepared.then(
        () => undefined,
        () => undefined,
      );
      return prepared.then(({ receipts }) => receipts);
    },
  };
}
