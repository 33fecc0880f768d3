import { z } from 'zod';
import { AMOUNT_LIMIT } from '../../domain/reward/amount.ts';

const BEYOND = `must lie between -${AMOUNT_LIMIT} and ${AMOUNT_LIMIT}, so that no sum leaves the range of a number`;

/**
 * The values that events are made of. Every object is strict: an unknown field is a typing error of the producer, not an
 * extension. Every field of an event has a description, which the JSON Schemas and the reference show. The plain values (id,
 * name, count) have none, so that a field without its own is noticed; what means the same in many events (treeId, policyRef,
 * packed) is described here.
 */

export const id = z
  .string()
  .regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/, 'must be a UUID in lower case')
  .meta({ format: 'uuid' });

export const name = z.string().min(1).max(200);
/** An id that a server gives a call of a tool, by which its result names it; it may be empty. */
export const toolId = z.string().max(10_000);
/** A count that a 32-bit column holds. */
export const count = z.int().min(0).max(2_147_483_647);
/** A counter without such a bound: a sequence, a simulation, a training step. */
export const counter = z.int().min(0);
export const finite = z.number();
/** A number that is added up: rewards, values of a search, durations. No sum of them leaves the range of a double. */
export const amount = z.number().min(-AMOUNT_LIMIT, BEYOND).max(AMOUNT_LIMIT, BEYOND);

export const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in lower-case hex');

/** A payload kept in the blob store: the event holds its SHA-256, its size in bytes and its media type. */
export const blobRef = z.strictObject({
  blob: sha256.describe('SHA-256 of the payload in lower-case hex, which is its key in the blob store.'),
  size: counter.describe('Size of the payload in bytes.'),
  mediaType: name.describe('Media type of the payload, for example `text/plain; charset=utf-8`.'),
});
export type BlobRef = z.infer<typeof blobRef>;

const payloads = z.registry<{ readonly isPayload: true }>();

/**
 * Marks what may hold personal or secret text: what models, environments, tools, judges and people said, and tokens, which reveal
 * it. Ids, numbers, hashes and names are none, nor is configuration. Payload is sealed by the key of its stream, and is what
 * `espalier forget` makes unreadable.
 */
function payload<Schema extends z.ZodType>(schema: Schema): Schema {
  payloads.add(schema, { isPayload: true });
  return schema;
}

/** Returns whether a field is payload: a text, or what is made of a value that is marked as payload. */
export function isPayload(schema: z.ZodType): boolean {
  return payloads.get(schema)?.isPayload === true; // the schema of a field inherits the mark of the value that it describes
}

/** Text from a model or an environment: inline, or a blob reference when its UTF-8 form is longer than 64 KiB. */
export const text = payload(z.union([z.string(), blobRef]));
/** The name that a model calls a tool by, or by which a message says who speaks; it may be empty. */
export const spokenName = payload(z.string().max(10_000));
/** Texts at which sampling stops. */
export const stopTexts = payload(z.array(z.string()).max(100));
/** What a program, a judge or a person said of something, in their own words. */
export const remark = payload(z.string().max(10_000));
/** A value as text that a comparison shows. */
export const excerpt = payload(z.string().max(2_000));
export type Text = z.infer<typeof text>;

/**
 * A token array as packed little-endian bytes (base64, or a blob): never JSON numbers, never re-tokenised. `length` counts
 * elements.
 */
export const packed = z.strictObject({
  dtype: z.enum(['int32', 'float32', 'uint8']).describe('Type of the elements, which are stored in little-endian order.'),
  length: count.describe('Number of elements.'),
  bytes: z.union([z.base64(), blobRef]).describe('Bytes of the elements in base64, or a reference to them in the blob store.'),
});
export type Packed = z.infer<typeof packed>;
/** Bytes that are payload: token ids, pictures, replies. */
export const packedPayload = payload(packed.clone());

// As JSON Schema writes them, whose readers do not all know classes, and read what is above U+FFFF in different ways: controls, and what is
// invisible or changes the order of what is around it.
const INVISIBLE =
  '\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb';
const INVISIBLE_REFUSED = 'must hold no control or formatting characters';
const TAGS = /[\u{e0000}-\u{e0fff}]/u;
const NO_POLICY = '^(?:\\.|__proto__|(?:.*[/\\\\])?\\.\\.(?:[/\\\\].*)?)$';
/** It becomes a part of paths, of addresses and of names in programs; `Qwen/Qwen2.5-7B-Instruct` is one. */
export const policyId = name
  .regex(new RegExp(`^[^${INVISIBLE}]*$`), INVISIBLE_REFUSED)
  .refine((text) => !TAGS.test(text), INVISIBLE_REFUSED)
  .refine((text) => !new RegExp(NO_POLICY).test(text), 'must be without `..` as a part of it, and neither `.` nor `__proto__`')
  .meta({ not: { pattern: NO_POLICY } })
  .describe('Name of the policy.');
export const policyVersion = count.describe(
  'Version of the policy, counted in training updates; 0 before the first update and for a policy that is not trained.',
);
export const policyRef = z.strictObject({ policyId, version: policyVersion });
export type PolicyRef = z.infer<typeof policyRef>;

/**
 * Any JSON value nested at most 64 deep: configuration and other free-form parts. Deeper nesting is an attack on parsers, not a
 * setting.
 */
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
      if (typeof item !== 'object' || item === null) continue;
      for (const each of Object.values(item)) below.push(each); // as arguments, a hundred thousand would overflow the stack
    }
    level = below;
  }
  return true;
}

export const experimentId = id.describe('UUID of the experiment.');
export const runId = id.describe('UUID of the run.');
export const treeId = id.describe('UUID of the tree; also the stream and the log key of its events.');
export const rolloutId = id.describe('UUID of the rollout.');
export const epoch = z.int().min(1);
export const renderSpecId = sha256.describe('SHA-256 of the canonical JSON of the render spec.');

export const environment = name.describe('Name of the environment.');
export const fingerprint = name.describe(
  'Fingerprint of the environment server and its data; equal fingerprints mean equal behaviour.',
);
export const codeVersion = name.describe('Version of the program that wrote the event.');
export const admissibleActions = payload(z.array(z.string()).max(10_000))
  .nullable()
  .describe('Actions that the environment accepts next; null when it does not list them.');
export const stateHash = sha256
  .nullable()
  .describe('SHA-256 of the resulting state of the environment; null when it reports none.');

/** The number of tokens that a response took. */
export const usage = z.strictObject({
  promptTokens: count.describe('Number of tokens in the prompt.'),
  completionTokens: count.describe('Number of tokens in the response.'),
});

export const scorer = z.strictObject({
  name: name.describe('Name of the scorer: the environment, a reward function or a judge.'),
  revision: name.describe('Revision of the scorer, which changes when its scores can change.'),
});

/** One problem instance. `alias` is the environment's own integer or string id, which other servers may number differently. */
export const task = z.strictObject({
  taskId: id.describe(
    'UUID of the task; collectors derive it from environment, fingerprint and `observationHash`, Python from all that it asks.',
  ),
  environment,
  serverFingerprint: fingerprint,
  observationHash: sha256.describe('SHA-256 of the first observation in UTF-8.'),
  alias: z.string().max(500).describe('Identifier of the task in its environment; other servers may number tasks differently.'),
  goal: remark.describe('Goal of the task; empty when the environment states none.'),
  depth: count
    .nullable()
    .describe('Depth of the task, for example of the recipe in TextCraft; null when the environment has no such measure.'),
  split: name.nullable().describe('Split that the task belongs to, for example `train` or `test`; null when it is not known.'),
  kind: name
    .optional()
    .describe('Kind of the task, such as the type of a household task; absent when the environment names none.'),
  toolsKwargs: payload(z.string().max(60_000))
    .optional()
    .describe('JSON of the arguments by which tools of the task are made, by their names (`tools_kwargs` of verl).'),
});

/** The data of an event type: its fields, and one sentence on what happened. */
export function eventData<Shape extends z.core.$ZodLooseShape>(description: string, shape: Shape) {
  return z.strictObject(shape).describe(description);
}
