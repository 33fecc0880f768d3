import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type EventType, isEventType } from '../../events/catalogue.ts';
import { decode, encode } from '../../events/codec.ts';
import { arbitraryRecord } from '../../testing/arbitrary-record.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { projections } from '../registry.ts';
import { isUnhandledRecord } from './unhandled-records.ts';

const text = (value: string) => Buffer.from(value, 'utf8');

describe('records that a projection does not fold', () => {
  test('a record that is passed over by its bytes is of a type that the projection does not handle', () => {
    const seen = { passed: 0, taken: 0 };
    fc.assert(
      fc.property(arbitraryRecord, fc.constantFrom(...projections), (events, projection) => {
        for (const event of events) {
          const isHandled = projection.handles === 'all' || projection.handles.includes(event.type);
          const isPassed = isUnhandledRecord(projection, encode(event));
          if (isPassed) expect(isHandled).toBe(false);
          seen[isPassed ? 'passed' : 'taken']++;
        }
      }),
    );
    expect(Math.min(seen.passed, seen.taken)).toBeGreaterThan(0);
  });

  test.each([
    ['names its type twice', '{"type":"StepTaken","type":"ValueBackedUp"}'],
    ['names its type twice, once with blanks', '{"type":"StepTaken", "type" : "ValueBackedUp"}'],
    ['names its type twice, once by an escape', '{"type":"StepTaken","\\u0074ype":"ValueBackedUp"}'],
    ['names its type by an escape', '{"type":"\\u0056alueBackedUp"}'],
    ['names a type within its data before its own', '{"data":{"type":"StepTaken"},"type":"ValueBackedUp"}'],
    ['names no type', '{"data":1}'],
    ['names a type that is not in the catalogue', '{"type":"Invented"}'],
    ['is no JSON', '\u0000'],
    ['takes over a stream', '{"type":"RunResumed"}'],
  ])('a record that %s is decoded', (_, record) => {
    expect(isUnhandledRecord({ ...named('search-statistics'), handles: ['ValueBackedUp'] }, text(record))).toBe(false);
  });

  test('what JSON.parse reads as the type decides, wherever keys are repeated or hidden', () => {
    const key = fc.constantFrom('"type"', '"\\u0074ype"', '"data"', '"id"');
    const value = fc.constantFrom('"StepTaken"', '"ValueBackedUp"', '{"type":"ValueBackedUp"}', '"a \\"type\\" b"', '1');
    const blank = fc.constantFrom('', ' ', '\n');
    fc.assert(
      fc.property(fc.array(fc.tuple(key, blank, value), { maxLength: 5 }), (fields) => {
        const record = `{${fields.map(([name, space, field]) => `${name}${space}:${space}${field}`).join(',')}}`;
        const { type } = JSON.parse(record) as { type?: unknown };
        const handles: readonly EventType[] = ['ValueBackedUp'];
        if (isUnhandledRecord({ ...named('search-statistics'), handles }, text(record)))
          expect(typeof type === 'string' && isEventType(type) && handles.includes(type)).toBe(false);
      }),
      { numRuns: 1_000 },
    );
  });

  test('nothing is passed over for a projection that folds all types', () => {
    const builder = new EventBuilder('all');
    builder.walk(builder.tree(builder.run()), 0, 2, 1);
    for (const event of builder.events) {
      expect(decode(encode(event)).kind).toBe('event');
      expect(isUnhandledRecord(named('journal'), encode(event))).toBe(false);
    }
  });
});

function named(name: string) {
  const found = projections.find((projection) => projection.name === name);
  if (!found) throw new Error(`there is no projection ${name}`);
  return found;
}
