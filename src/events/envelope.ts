import { z } from 'zod';
import type { DataOf, EventType } from './catalogue.ts';
import { counter, epoch, id, name, sha256 } from './schemas/values.ts';

/** Who wrote an event: the program's name and version. `sequence` counts per (stream, producer name). */
export const producer = z.strictObject({
  name: name.describe('Name of the program.'),
  version: name.describe('Version of the program.'),
});
export type Producer = z.infer<typeof producer>;

/**
 * Who appended an event and for which project. The platform writes it, never the producer: an event that arrives with a stamp is
 * refused. Events that another program appended to the log have none, which means the default one.
 */
export const stampFields = {
  principal: z
    .string()
    .regex(/^(local|key:[0-9A-Za-z-]{1,64})$/, 'must be local or key:<id of the key>')
    .describe('Who appended the event, as the platform alone writes it: `local`, or `key:` and the id of the API key.'),
  project: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,62}$/, 'takes lower-case letters, digits and dashes, 63 at most')
    .describe('Project that the event belongs to, as the platform alone writes it.'),
} as const;
export type Stamp = { readonly [field in keyof typeof stampFields]: string };

/** The stamp of events that carry none. */
export const DEFAULT_STAMP: Stamp = { principal: 'local', project: 'default' };

/** Returns who appended an event and for which project. */
export function stampOf({ principal, project }: { readonly [field in keyof Stamp]?: string | undefined }): Stamp {
  return { principal: principal ?? DEFAULT_STAMP.principal, project: project ?? DEFAULT_STAMP.project };
}

/**
 * The envelope field `released` of an event that was requeued: the record at `offset` of the same partition is the one that waited
 * in quarantine. A fold of the log meets the event a second time here, where it takes effect for the read models that refused it.
 */
export const requeued = z.strictObject({
  offset: counter.describe('Offset, in the same partition, of the record that was in quarantine.'),
  at: z.iso.datetime({ precision: 3 }).describe('Time of the requeue, as ISO 8601 in UTC with milliseconds.'),
  reason: z.string().min(1).max(2_000).nullable().describe('Reason for the requeue; null when none was given.'),
});
export type RequeuedFrom = z.infer<typeof requeued>;

/**
 * The payload of an event (`payload-fields.ts`), encrypted by the key of its stream; `data` holds placeholders in its place. An
 * event that is read has it only where the key is destroyed: then its payload is forgotten.
 */
export const sealed = z.strictObject({
  key: id.describe('UUID of the key that encrypted the payload.'),
  iv: z.base64().max(24).describe('Initialization vector of AES-256-GCM, in base64.'),
  text: z.base64().describe('Encrypted JSON of the payload by its place in `data`, with the authentication tag, in base64.'),
  blobs: z
    .array(sha256)
    .max(100_000)
    .optional()
    .describe('SHA-256 of every payload in the blob store that the encrypted part refers to; absent when there are none.'),
});
export type Sealed = z.infer<typeof sealed>;

/**
 * The metadata of every event. `stream` is the id that `data` names as its stream and is the log key. Topic, partition and offset
 * belong to the delivery, never to the event.
 */
export const envelopeFields = {
  id: id.describe('UUID of the event; appending the same event again under its id has no effect.'),
  schemaVersion: z.int().min(1).describe('Version of the schema of the event type, from 1.'),
  stream: id.describe(
    'UUID of the stream and key of the log record, which follows from the field of `data` that the type names.',
  ),
  sequence: counter.describe(
    'Number of the event among those of its producer in its stream, from 0, by which gaps are detected.',
  ),
  occurredAt: z.iso
    .datetime({ precision: 3 })
    .refine((at) => at >= '1970', 'must not lie before 1970')
    .describe("Time of the event by the producer's clock, as ISO 8601 in UTC with milliseconds, not before 1970."),
  correlationId: id.describe(
    'UUID of the run that the event belongs to, or of the experiment, dataset or lineage outside a run.',
  ),
  causationId: id.nullable().describe('UUID of the event that led to this one; null when the producer names none.'),
  producer: producer.describe('Program that wrote the event.'),
  principal: stampFields.principal.optional(),
  project: stampFields.project.optional(),
  repaired: z
    .array(z.string().max(500))
    .max(1_000)
    .optional()
    .describe(
      'Paths of the first 1,000 fields in which NUL or unpaired surrogates were replaced by U+FFFD; absent when none were.',
    ),
  epoch: epoch.optional().describe('Epoch at which its producer held the run in `correlationId`; absent where it took none.'),
  released: requeued.optional().describe('Record in quarantine that this record requeues; absent unless the event was requeued.'),
  sealed: sealed
    .optional()
    .describe('Encrypted payload, written by the platform alone; absent when the payload is not encrypted.'),
} as const;

const metadata = z.strictObject(envelopeFields);
export type Metadata = z.infer<typeof metadata>;

/** A fact with its metadata; a union over the catalogue, discriminated by `type`. */
export type Envelope<T extends EventType = EventType> = T extends EventType
  ? Metadata & { readonly type: T; readonly data: DataOf<T> }
  : never;

/** What identifies an event: its id in its stream. Only there is an order in which one of two came first. */
export function identityOf({ stream, id }: { readonly stream: string; readonly id: string }): string {
  return `${stream} ${id}`;
}

/** Where an envelope lies in the log. Offsets stay below 2^53, so a number holds them exactly. */
export interface Delivery<E extends Envelope = Envelope> {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  /** When the log took it, as ISO 8601 in UTC with milliseconds; null where no log says so. */
  readonly receivedAt: string | null;
  readonly event: E;
  /** The record as it lay in the log. */
  readonly body: string;
  /** The epoch of the collector that had taken over the stream before the event, which has no effect then. */
  readonly supersededBy?: number;
  /** The offset of the record in its partition that it repeats or contradicts (`journal/mark-repeated.ts`): it has no effect. */
  readonly repeats?: number;
}
