import { z } from 'zod';

/** The values that events are made of. Every object is strict: an unknown field is a typing error of the producer, not an extension. */

export const id = z
  .string()
  .regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/, 'must be a UUID in lower case')
  .meta({ format: 'uuid' });

export const name = z.string().min(1).max(200);
export const count = z.int().min(0);
export const finite = z.number();

export const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in lower-case hex');

/** A payload kept in the blob store: the event holds its SHA-256, its size in bytes and its media type. */
export const blobRef = z.strictObject({ blob: sha256, size: count, mediaType: name });
export type BlobRef = z.infer<typeof blobRef>;

/** Text from a model or an environment: inline, or a blob reference when its UTF-8 form is longer than 64 KiB. */
export const text = z.union([z.string(), blobRef]);
export type Text = z.infer<typeof text>;

/** A token array as packed little-endian bytes (base64, or a blob): never JSON numbers, never re-tokenised. `length` counts elements. */
export const packed = z.strictObject({
  dtype: z.enum(['int32', 'float32', 'uint8']),
  length: count,
  bytes: z.union([z.base64(), blobRef]),
});
export type Packed = z.infer<typeof packed>;

export const policyRef = z.strictObject({ policyId: name, version: count });
export type PolicyRef = z.infer<typeof policyRef>;

/** Any JSON value: configuration and other free-form parts. */
export const json = z.json();

export const scorer = z.strictObject({ name, revision: name });

/** One problem instance. `alias` is the environment's own integer or string id, which other servers may number differently. */
export const task = z.strictObject({
  taskId: id,
  environment: name,
  serverFingerprint: name,
  observationHash: sha256,
  alias: z.string().max(500),
  goal: z.string().max(10_000),
  depth: count.nullable(),
  split: name.nullable(),
});
