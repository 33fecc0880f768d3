import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { IdPlaces, type Place } from './id-places.ts';

const place = fc.record({ partition: fc.nat(5_000), offset: fc.nat(2 ** 31 - 1).map((offset) => offset * 500) });
const few = fc.nat(40).map((n) => `6d3f1c52-8f0e-5b7a-9${n.toString(16).padStart(3, '0')}-00000000000${n % 10}`);

test('an id is found at its first place, among any others', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.oneof(fc.uuid(), few), place), { minLength: 1, maxLength: 400 }), (recorded) => {
      const ids = new IdPlaces();
      const first = new Map<string, Place>();
      for (const [id, at] of recorded) {
        expect(ids.seen(id, at)).toEqual(first.get(id));
        if (!first.has(id)) first.set(id, at);
      }
    }),
  );
});

test('ids beyond the first capacity are all found again, and two with the same half count as one', () => {
  const ids = new IdPlaces();
  const id = (n: number, head = '00000000') => `${head}-0000-4000-8000-${n.toString(16).padStart(12, '0')}`;
  for (let n = 0; n < 10_000; n++) expect(ids.seen(id(n), { partition: n % 7, offset: n })).toBeUndefined();
  for (let n = 0; n < 10_000; n++)
    expect(ids.seen(id(n, 'ffffffff'), { partition: 0, offset: 0 })).toEqual({ partition: n % 7, offset: n });
});
