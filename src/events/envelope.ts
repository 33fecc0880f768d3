import { z } from 'zod';
import type { DataOf, EventType } from './catalogue.ts';
import { counter, id, name } from './schemas/values.ts';

/** Who wrote an event: the program's name and version. `sequence` counts per (stream, producer name). */
export const producer = z.strictObject({ name, version: name });
export type Producer = z.infer<typeof producer>;

/**
 * What an event says that waited in quarantine and was appended again: the record at `offset` of the same partition is the one that waited. Whoever
 * folds the log meets the event a second time here, which is where it takes effect for the read models that refused it before.
 */
export const released = z.strictObject({
  offset: counter,
  at: z.iso.datetime({ precision: 3 }),
  reason: z.string().min(1).max(2_000).nullable(),
});
export type ReleasedFrom = z.infer<typeof released>;

/**
 * The metadata of every event. `stream` is the id that `data` names as its stream and is the log key. `sequence` is the producer's own
 * counter in that stream, from 0, so gaps and reordering are seen. `correlationId` is the run, `causationId` the event that led to this
 * one. `repaired` lists the fields (the first 1,000) whose text or name held half surrogates or NUL, replaced by U+FFFD on append; `released` says of
 * a record that it is the release of one in quarantine. Topic, partition and offset belong to the delivery, never to the event.
 */
export const envelopeFields = {
  id,
  schemaVersion: z.int().min(1),
  stream: id,
  sequence: counter,
  occurredAt: z.iso.datetime({ precision: 3 }).refine((at) => at >= '1970', 'must not lie before 1970'),
  correlationId: id,
  causationId: id.nullable(),
  producer,
  repaired: z.array(z.string().max(500)).max(1_000).optional(),
  released: released.optional(),
} as const;

const metadata = z.strictObject(envelopeFields);
export type Metadata = z.infer<typeof metadata>;

/** A fact with its metadata; a union over the catalogue, discriminated by `type`. */
export type Envelope<T extends EventType = EventType> = T extends EventType
  ? Metadata & { readonly type: T; readonly data: DataOf<T> }
  : never;

/** Where an envelope lies in the log. Offsets stay below 2^53, so a number holds them exactly. */
export interface Delivery<E extends Envelope = Envelope> {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly event: E;
  /** The record as it lay in the log. */
  readonly body: string;
}
