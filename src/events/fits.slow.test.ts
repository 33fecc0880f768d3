import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import { arbitraryEvent } from '../testing/arbitrary-event.ts';
import { everyEvent } from '../testing/every-event.ts';
import { catalogue, type EventType } from './catalogue.ts';
import { schemaOf } from './codec.ts';
import { compileFits } from './fits.ts';
import { jsonSchemas } from './json-schema.ts';

const TYPES = Object.keys(catalogue) as EventType[]; // the keys of the catalogue are its types
const schemas = jsonSchemas();

/** What may stand anywhere in JSON, the values at the edges of what schemas allow among it. */
const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom<unknown>('', 'x'.repeat(70_000), -1, 0.5, 2 ** 53, 1e308, null, [], {}, '2026-01-01T00:00:00.000Z', 'aGk='),
);

/** Replaces, removes or adds something at one place of a value. */
function changed(value: unknown, path: readonly number[], by: unknown, how: 'put' | 'remove' | 'add'): unknown {
  if (typeof value !== 'object' || value === null) return by;
  const keys = Object.keys(value);
  const [at = 0, ...deeper] = path;
  const key = keys[at % Math.max(1, keys.length)];
  if (key === undefined || (path.length <= 1 && how === 'add')) {
    if (Array.isArray(value)) return [...value, by];
    // as JSON.parse makes it: `__proto__` is a key like any other
    return Object.defineProperty({ ...value }, at % 2 === 0 ? 'more' : '__proto__', {
      value: by,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  if (path.length <= 1 && how === 'remove') {
    if (Array.isArray(value)) return value.filter((_, i) => i !== Number(key));
    return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key));
  }
  const inner = (value as Record<string, unknown>)[key];
  const put = path.length <= 1 ? by : changed(inner, deeper, by, how);
  return Array.isArray(value) ? value.map((held, i) => (i === Number(key) ? put : held)) : { ...value, [key]: put };
}

test('an event of every type fits its schema as soon as its fields have the order of the schema', () => {
  for (const event of everyEvent()) {
    const schema = schemaOf(event.type);
    expect([event.type, compileFits(schema)(schema.parse(event))]).toEqual([event.type, true]);
    const turned = Object.fromEntries(Object.entries(event).reverse());
    expect([event.type, compileFits(schema)(turned)]).toEqual([event.type, false]);
  }
});

test.each(TYPES)('what fits the schema of %s is what parsing returns, whatever is changed in an event', (type) => {
  const schema = schemaOf(type);
  const fits = compileFits(schema);
  const places = fc.array(fc.nat(40), { minLength: 1, maxLength: 5 });
  const how = fc.constantFrom('put', 'remove', 'add');
  fc.assert(
    fc.property(arbitraryEvent(type, schemas[type]), places, anything, how, (event, path, by, way) => {
      expect(fits(event)).toBe(true);
      const other = changed(event, path, by, way as 'put');
      if (!fits(other)) return;
      const parsed = schema.safeParse(other);
      expect(parsed.success).toBe(true);
      expect(JSON.stringify(parsed.data)).toBe(JSON.stringify(other));
    }),
    { numRuns: 20 },
  );
});

test('a schema that changes what it reads, or that nothing here knows, fits nothing but texts and numbers that it leaves alone', () => {
  const transforming = z.strictObject({ at: z.string().transform((text) => text.length) });
  expect(compileFits(transforming)({ at: 'x' })).toBe(false);
  expect(compileFits(z.string().trim())('x')).toBe(true);
  expect(compileFits(z.string().trim())(' x')).toBe(false);
  expect(compileFits(z.object({ a: z.number() }))({ a: 1, b: 2 })).toBe(false);
  expect(compileFits(z.strictObject({ a: z.number().default(1) }))({})).toBe(false);
  expect(compileFits(z.tuple([z.number()]))([1])).toBe(false);
});
