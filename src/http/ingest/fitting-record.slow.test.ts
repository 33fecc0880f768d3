import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { INLINE_LIMIT, prepareParsed } from '../../append/prepare-events.ts';
import { catalogue, type EventType } from '../../events/catalogue.ts';
import { parseEnvelope, schemaOf } from '../../events/codec.ts';
import { jsonSchemas } from '../../events/json-schema.ts';
import { arbitraryEvent } from '../../testing/arbitrary-event.ts';
import { everyEvent } from '../../testing/every-event.ts';
import { MemoryBlobs } from '../../testing/memory-blobs.ts';
import { fittingRecord } from './fitting-record.ts';
import { unsafePart } from './unsafe-part.ts';

const STAMP = { principal: 'key:1', project: 'gauges' };
const TYPES = Object.keys(catalogue) as EventType[]; // the keys of the catalogue are its types
const schemas = jsonSchemas();

/** An event as a producer sends it: without what the platform writes. */
function sent(event: object): Record<string, unknown> {
  const { principal: _by, project: _of, repaired: _repaired, ...own } = event as Record<string, unknown>;
  return JSON.parse(JSON.stringify(own));
}

async function expectSame(value: Record<string, unknown>): Promise<'fitting' | 'other'> {
  const record = fittingRecord(value, STAMP);
  if (!record) return 'other';
  expect(unsafePart(value)).toBeUndefined();
  const parsed = parseEnvelope(value);
  if (parsed.kind === 'refused') throw new Error(parsed.refusal.message);
  const blobs = new MemoryBlobs();
  const whole = await prepareParsed(parsed.event, blobs, STAMP);
  expect(record).toEqual(whole);
  expect(Buffer.from(record.value).equals(Buffer.from(whole.value))).toBe(true);
  expect(blobs.held.size).toBe(0);
  return 'fitting';
}

describe('an event to which nothing has to be done', () => {
  test('every event in the order of its schema, or with the fields of its envelope in another, is one', async () => {
    for (const event of everyEvent()) {
      const value = sent(schemaOf(event.type).parse(event)); // its data in the order of the schema
      if (JSON.stringify(value).includes('"blob"')) continue;
      expect([event.type, await expectSame(value)]).toEqual([event.type, 'fitting']);
      const turned = Object.fromEntries(Object.entries(value).reverse());
      expect([event.type, await expectSame(turned)]).toEqual([event.type, 'fitting']);
    }
  });

  test.each(TYPES)('the record of %s is that of an event that is checked part by part, whatever it holds', async (type) => {
    await fc.assert(
      fc.asyncProperty(arbitraryEvent(type, schemas[type]), async (event) => void (await expectSame(sent(event)))),
      { numRuns: 5 },
    );
  });

  test('texts of any kind are left to the other way, or make the same record', async () => {
    const [step] = everyEvent().filter(({ type }) => type === 'StepTaken');
    const texts = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('a\0b', '\ud800', 'C:\\users', '\u001b[0m', '"blob":', 'x'.repeat(INLINE_LIMIT + 1)),
    );
    await fc.assert(
      fc.asyncProperty(texts, async (observation) => {
        const way = await expectSame(sent({ ...step, data: { ...step?.data, observation } }));
        const storable = observation.isWellFormed() && !observation.includes('\0');
        if (!storable || observation.length > INLINE_LIMIT) expect(way).toBe('other');
      }),
    );
  });

  test.each<[string, (event: Record<string, unknown>) => unknown]>([
    ['another version', (event) => ({ ...event, schemaVersion: 99 })],
    ['an unknown type', (event) => ({ ...event, type: 'constructor' })],
    ['a field that is no field', (event) => ({ ...event, extra: 1 })],
    ['a field in the place of another', ({ causationId: _, ...event }) => ({ ...event, extra: null })],
    ['a stamp', (event) => ({ ...event, principal: 'local' })],
    ['a key __proto__', (event) => JSON.parse(JSON.stringify(event).replace('"config":{', '"config":{"__proto__":1,'))],
    ['another stream', (event) => ({ ...event, stream: event.id })],
    ['no object', () => [1]],
  ])('%s is left to the other way', (_name, change) => {
    const [started] = everyEvent().filter(({ type }) => type === 'RunStarted');
    const value = sent({ ...started, data: { ...started?.data, config: { a: 1 } } });
    expect(fittingRecord(value, STAMP)).toBeDefined();
    expect(fittingRecord(change(value), STAMP)).toBeUndefined();
  });
});
