import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { identityOf } from '../../events/envelope.ts';
import { IdPlaces, type Place } from './id-places.ts';

const place = fc.record({ partition: fc.nat(5_000), offset: fc.nat(2 ** 31 - 1).map((offset) => offset * 500) });
const few = fc.nat(40).map((n) => `6d3f1c52-8f0e-5b7a-9${n.toString(16).padStart(3, '0')}-00000000000${n % 10}`);

const STREAMS = ['6d3f1c52-8f0e-4b7a-9000-0a3b5c7d9e1f', '0b9c2a11-1d2e-4f3a-a123-ffeeddccbbaa'];

test('an event is found at its first place, among any others, also under an id that other streams use', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.oneof(fc.uuid(), few), fc.constantFrom(...STREAMS), place), { minLength: 1, maxLength: 400 }),
      (recorded) => {
        const ids = new IdPlaces();
        const first = new Map<string, Place>();
        for (const [id, stream, at] of recorded) {
          const event = { stream, id };
          expect(ids.seen(event, at)).toEqual(first.get(identityOf(event)));
          if (!first.has(identityOf(event))) first.set(identityOf(event), at);
        }
      },
    ),
  );
});

test('ids beyond the first capacity are all found again, and two with the same half count as one', () => {
  const ids = new IdPlaces();
  const [stream = ''] = STREAMS;
  const id = (n: number, head = '00000000') => `${head}-0000-4000-8000-${n.toString(16).padStart(12, '0')}`;
  for (let n = 0; n < 10_000; n++) expect(ids.seen({ stream, id: id(n) }, { partition: n % 7, offset: n })).toBeUndefined();
  for (let n = 0; n < 10_000; n++)
    expect(ids.seen({ stream, id: id(n, 'ffffffff') }, { partition: 0, offset: 0 })).toEqual({ partition: n % 7, offset: n });
});
