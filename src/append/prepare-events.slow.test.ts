import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { catalogue, type EventType } from '../events/catalogue.ts';
import { decode, schemaOf } from '../events/codec.ts';
import type { Envelope } from '../events/envelope.ts';
import { jsonSchemas } from '../events/json-schema.ts';
import { INLINE_LIMIT } from '../events/recorded-form.ts';
import { arbitraryEvent } from '../testing/arbitrary-event.ts';
import { everyEvent } from '../testing/every-event.ts';
import { MemoryBlobs } from '../testing/memory-blobs.ts';
import { EventRefused, prepareEvents, prepareParsed } from './prepare-events.ts';

const STAMP = { principal: 'key:1', project: 'gauges' };
const TYPES = Object.keys(catalogue) as EventType[]; // the keys of the catalogue are its types
const schemas = jsonSchemas();

describe('the bytes on record', () => {
  test('an event has the fields of its schema in their order, whatever order its producer wrote them in', async () => {
    for (const event of everyEvent()) {
      const turned = Object.fromEntries(Object.entries(event).reverse()) as Envelope; // the same event
      expect(await textOf(turned)).toBe(JSON.stringify(schemaOf(event.type).parse({ ...event, ...STAMP })));
    }
  });

  test.each(TYPES)('any %s is read back from its record with its stamp', async (type) => {
    await fc.assert(
      fc.asyncProperty(arbitraryEvent(type, schemas[type]), async (event) => {
        const { repaired: _, ...own } = JSON.parse(JSON.stringify(event));
        const decoded = decode(Buffer.from(await textOf(own)));
        expect(decoded).toMatchObject({ kind: 'event', event: STAMP });
        if (decoded.kind === 'event' && !decoded.event.repaired) expect(decoded.event).toEqual({ ...own, ...STAMP });
      }),
      { numRuns: 5 },
    );
  });

  test('a text that can be stored is recorded as it is, inline or as a blob; any other is repaired and listed', async () => {
    const step = everyEvent().find(({ type }) => type === 'StepTaken');
    const texts = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('a\0b', '\ud800', 'C:\\users', '\u001b[0m', '"blob":', 'x'.repeat(INLINE_LIMIT + 1)),
    );
    await fc.assert(
      fc.asyncProperty(texts, async (observation) => {
        const blobs = new MemoryBlobs();
        const event = { ...step, repaired: undefined, data: { ...step?.data, observation } } as Envelope; // a step with another text
        const [record] = await prepareEvents([event], blobs, STAMP);
        const prepared = record?.event;
        if (prepared?.type !== 'StepTaken') throw new Error('a step was prepared');
        const storable = observation.toWellFormed().replaceAll('\0', '\uFFFD');
        expect(prepared.repaired).toEqual(storable === observation ? undefined : ['data.observation']);
        const stored = prepared.data.observation;
        const text = typeof stored === 'string' ? stored : Buffer.from(await blobs.get(stored.blob)).toString('utf8');
        expect(text).toBe(storable);
        expect(typeof stored === 'string').toBe(Buffer.byteLength(storable) <= INLINE_LIMIT);
      }),
    );
  });

  test('an event whose repaired data no longer fits its schema is refused', async () => {
    const started = everyEvent().find(({ type }) => type === 'RunStarted');
    const long = `\0${'x'.repeat(INLINE_LIMIT)}`;
    const wrong = { ...started, data: { ...started?.data, name: long } } as Envelope; // not parsed: its name is too long
    await expect(prepareParsed(wrong, new MemoryBlobs())).rejects.toThrow(EventRefused);
  });
});

async function textOf(event: Envelope): Promise<string> {
  const [record] = await prepareEvents([event], new MemoryBlobs(), STAMP);
  return Buffer.from(record?.value ?? []).toString('utf8');
}
