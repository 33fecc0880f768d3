import { z } from 'zod';
import { AMOUNT_LIMIT } from '../../domain/reward/amount.ts';

const BEYOND = `must lie between -${AMOUNT_LIMIT} and ${AMOUNT_LIMIT}, so that no sum leaves the range of a number`;

/** The values that events are made of. Every object is strict: an unknown field is a typing error of the producer, not an extension. */

export const id = z
  .string()
  .regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/, 'must be a UUID in lower case')
  .meta({ format: 'uuid' });

export const name = z.string().min(1).max(200);
/** A count that a 32-bit column holds. */
export const count = z.int().min(0).max(2_147_483_647);
/** A counter without such a bound: a sequence, a simulation, a training step. */
export const counter = z.int().min(0);
export const finite = z.number();
/** A number that is added up: rewards, values of a search, durations. No sum of them leaves the range of a double. */
export const amount = z.number().min(-AMOUNT_LIMIT, BEYOND).max(AMOUNT_LIMIT, BEYOND);

export const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in lower-case hex');

/** A payload kept in the blob store: the event holds its SHA-256, its size in bytes and its media type. */
export const blobRef = z.strictObject({ blob: sha256, size: counter, mediaType: name });
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

/** Any JSON value nested at most 64 deep: configuration and other free-form parts. Deeper nesting is an attack on parsers, not a setting. */
export const json = z
  .unknown()
  .refine(isShallowJson, 'must be JSON nested at most 64 deep, its numbers within the range of a double');

function isShallowJson(value: unknown): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > 64) return false;
    const below: unknown[] = [];
    for (const item of level) {
      if (item === undefined || typeof item === 'function' || typeof item === 'bigint' || typeof item === 'symbol') return false;
      if (typeof item === 'number' && !Number.isFinite(item)) return false; // 1e999 parses, and JSON writes it as null
      if (typeof item === 'object' && item !== null) below.push(...Object.values(item));
    }
    level = below;
  }
  return true;
}

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
