import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { arbitraryEvent } from '../testing/arbitrary-event.ts';
import { everyEvent } from '../testing/every-event.ts';
import { canonicalJson, compileCanonical } from './canonical-json.ts';
import { catalogue, type EventType } from './catalogue.ts';
import { jsonSchemas } from './json-schema.ts';

const TYPES = Object.keys(catalogue) as EventType[]; // the keys of the catalogue are its types
const schemas = jsonSchemas();

test.each(TYPES)('the writer of the data of %s writes the data of every type, and any JSON, as canonicalJson does', (type) => {
  const write = compileCanonical(catalogue[type].data);
  for (const { data } of everyEvent()) expect(write(data)).toBe(canonicalJson(data));
  const values = fc.oneof(
    arbitraryEvent(type, schemas[type]).map(({ data }) => data as unknown),
    fc.tuple(arbitraryEvent(type, schemas[type]), fc.string(), fc.jsonValue()).map(([{ data }, key, held]) => {
      const keys = Object.keys(data);
      return { ...data, [key]: held, [keys[key.length % keys.length] ?? 'more']: held, none: undefined };
    }),
    fc.jsonValue(),
  );
  fc.assert(
    fc.property(values, (value) => expect(write(value)).toBe(canonicalJson(value))),
    { numRuns: 8 },
  );
});

test('fields that are left out are written from no value, whatever else it holds', () => {
  const write = compileCanonical(catalogue.StepTaken.data, new Set(['timings', 'call', 'cache']));
  for (const { data } of everyEvent()) {
    const { timings: _timings, call: _call, cache: _cache, ...said } = data as Record<string, unknown>;
    expect(write(data)).toBe(canonicalJson(said));
    expect(write({ ...data, more: 1 })).toBe(canonicalJson({ ...said, more: 1 }));
  }
});
