import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parseEnvelope } from '../events/codec.ts';
import type { Envelope } from '../events/envelope.ts';
import { everyEvent } from '../testing/every-event.ts';
import { MemoryBlobs } from '../testing/memory-blobs.ts';
import { EventRefused, INLINE_LIMIT, type PreparedRecord, prepareEvents, prepareParsed } from './prepare-events.ts';

const STAMP = { principal: 'key:1', project: 'gauges' };

describe('an event that was parsed', () => {
  test('every event that was parsed becomes the same record as one that is checked again', async () => {
    for (const event of everyEvent()) await expectSame(parsed(event));
  });

  test('text that is repaired or moved out makes the same record, whatever the text', async () => {
    const step = everyEvent().find(({ type }) => type === 'StepTaken');
    const texts = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('a\0b', '\ud800', 'x'.repeat(INLINE_LIMIT + 1)));
    await fc.assert(
      fc.asyncProperty(texts, async (observation) => {
        await expectSame(parsed({ ...step, data: { ...step?.data, observation } }));
      }),
    );
  });

  test('an event whose repaired data no longer fits its schema is refused', async () => {
    const started = everyEvent().find(({ type }) => type === 'RunStarted');
    const long = `\0${'x'.repeat(INLINE_LIMIT)}`;
    const wrong = { ...started, data: { ...started?.data, name: long } } as Envelope; // not parsed: its name is too long
    await expect(Promise.resolve(prepareParsed(wrong, new MemoryBlobs(), STAMP))).rejects.toThrow(EventRefused);
  });
});

function parsed(event: unknown): Envelope {
  const decoded = parseEnvelope(event);
  if (decoded.kind === 'refused') throw new Error(decoded.refusal.message);
  return decoded.event;
}

async function expectSame(event: Envelope): Promise<void> {
  const [whole] = await prepareEvents([event], new MemoryBlobs(), STAMP);
  const record = await prepareParsed(event, new MemoryBlobs(), STAMP);
  expect(record).toEqual(whole);
  expect(text(record)).toBe(text(whole)); // byte for byte
}

const text = (record: PreparedRecord | undefined) => Buffer.from(record?.value ?? []).toString('utf8');
