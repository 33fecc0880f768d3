import fc from 'fast-check';
import type { EventType } from '../events/catalogue.ts';
import type { Envelope } from '../events/envelope.ts';
import { streamOf } from '../events/stream-of.ts';

/**
 * Builds events of every type for property tests, from the published schema of the type: so a new field is met by the tests
 * without anybody's doing. Numbers stay in their ranges, text is any that can be stored.
 */
export function arbitraryEvent(type: EventType, schema: object): fc.Arbitrary<Envelope> {
  return fromSchema(schema as Schema).map((drawn) => {
    // Only what was sealed can be opened: an event is written without it.
    const { sealed: _sealed, ...event } = drawn as { data: Record<string, unknown>; sealed?: unknown }; // every event has `data`
    return { ...event, stream: streamOf(type, event.data) } as unknown as Envelope; // built to the schema of this type
  });
}

interface Schema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly pattern?: string;
  readonly not?: { readonly pattern: string };
  readonly format?: string;
  readonly contentEncoding?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

const MOST = 4; // items and characters: enough to meet none, one and several

function fromSchema(schema: Schema): fc.Arbitrary<unknown> {
  if ('const' in schema) return fc.constant(schema.const);
  if (schema.enum) return fc.constantFrom(...schema.enum);
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives) return fc.oneof(...alternatives.map(fromSchema));
  if (Array.isArray(schema.type)) return fc.oneof(...schema.type.map((type: string) => fromSchema({ ...schema, type })));
  switch (schema.type) {
    case 'object':
      return fc.record(mapValues(schema.properties ?? {}, fromSchema), { requiredKeys: [...(schema.required ?? [])] });
    case 'array': {
      const { minItems = 0, maxItems = minItems + MOST } = schema;
      return fc.array(fromSchema(schema.items ?? {}), { minLength: minItems, maxLength: Math.min(maxItems, minItems + MOST) });
    }
    case 'string':
      return textOf(schema);
    case 'integer':
      return fc.integer({ min: schema.minimum ?? Number.MIN_SAFE_INTEGER, max: schema.maximum ?? Number.MAX_SAFE_INTEGER });
    case 'number':
      return fc
        .double({
          noNaN: true,
          noDefaultInfinity: true,
          ...(schema.minimum === undefined ? {} : { min: schema.minimum }),
          ...(schema.maximum === undefined ? {} : { max: schema.maximum }),
        })
        .map((n) => n + 0);
    case 'boolean':
      return fc.boolean();
    case 'null':
      return fc.constant(null);
    default:
      return fc.jsonValue({ maxDepth: 3, noUnicodeString: false }).map(storable);
  }
}

function textOf({ format, pattern, not, contentEncoding, minLength = 0, maxLength }: Schema): fc.Arbitrary<unknown> {
  if (format === 'uuid') return fc.uuid();
  if (format === 'date-time')
    return fc
      .date({ min: new Date(0), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true })
      .map((at) => at.toISOString());
  if (contentEncoding === 'base64') return fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes).toString('base64'));
  if (pattern !== undefined)
    return fc
      .stringMatching(new RegExp(pattern), maxLength === undefined ? {} : { maxLength })
      .map((text) => text.toWellFormed())
      .filter((text) => text.length >= minLength && !(not && new RegExp(not.pattern).test(text)));
  const most = maxLength ?? minLength + MOST;
  const length = Math.min(most, minLength + MOST);
  // Code points of two UTF-16 units count twice in a length limit.
  return fc
    .string({ unit: 'binary', minLength, maxLength: length })
    .map((text) => text.replaceAll('\0', '0').slice(0, most).toWellFormed());
}

/** JSON that comes back as it went in: −0 is written as 0, and keys are checked by other rules. */
function storable(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value)
      .replaceAll('\\u0000', '0')
      .replaceAll(/\\ud[89a-f]../g, '?')
      .replaceAll('"__proto__"', '"proto"'),
  );
}

function mapValues<T, U>(record: Readonly<Record<string, T>>, change: (value: T) => U): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}
