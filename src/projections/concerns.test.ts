import { expect, test } from '@jest/globals';
import { everyEvent } from '../testing/every-event.ts';
import { concerning, isConcerned } from './concerns.ts';
import { projections } from './registry.ts';
import type { Item } from './slice.ts';

const PLACE = { topic: 'trees', partition: 0, receivedAt: null };
const REFUSAL = { code: 'malformed', path: '', message: 'is none' } as const;
const RELEASED = { offset: 0, at: '2026-01-01T00:00:00.000Z', reason: 'read again' };

function everyItem(): readonly Item[] {
  const events = everyEvent().flatMap((event) => [event, { ...event, released: RELEASED }]);
  const known = events.flatMap((event, offset): Item[] => {
    const delivery = { ...PLACE, offset, event, body: JSON.stringify(event) };
    return [
      { kind: 'event', delivery },
      { kind: 'event', delivery: { ...delivery, supersededBy: 2 } },
      { kind: 'event', delivery: { ...delivery, repeats: 0 } },
    ];
  });
  const refused = [null, 'StepTaken', 'Unknown'].map((type, offset): Item => {
    return { kind: 'refused', offset, bytes: Buffer.of(1), type, refusal: REFUSAL };
  });
  return [...known, ...refused];
}

test.each(projections)('what concerns $name in a slice is what concerns it alone', (projection) => {
  const items = everyItem();
  const sliceOf = (held: readonly Item[]) => ({ topic: 'trees', partition: 0, from: 0, next: 1, items: held });
  const alone = items.filter((item) => isConcerned(projection, sliceOf([item])));
  expect(concerning(projection, sliceOf(items))).toEqual(alone);
  expect(isConcerned(projection, sliceOf(items))).toBe(true);
  if (projection.handles !== 'all') expect(alone.length).toBeLessThan(items.length);
  const others = items.filter((item) => !alone.includes(item));
  expect(concerning(projection, sliceOf(others))).toEqual([]);
  expect(isConcerned(projection, sliceOf(others))).toBe(false);
  const released = alone.filter((item) => item.kind === 'event' && item.delivery.event.released !== undefined);
  expect(released.length).toBeGreaterThan(0);
});
