import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { AMOUNT_LIMIT, sumAmounts } from './amount.ts';

const amount = fc.oneof(
  fc.double({ min: -AMOUNT_LIMIT, max: AMOUNT_LIMIT, noNaN: true }),
  fc.integer({ min: -100, max: 100 }).map((tenths) => tenths / 10),
  fc.constantFrom(0, -0, 5e-324, 1e100, -1e100, 0.1, 1e21, 123456789012345680000),
);

test('the sum is that of the decimals, rounded once', () => {
  expect(sumAmounts([])).toBe(0);
  expect(sumAmounts([0.1, 0.2])).toBe(0.3);
  expect(sumAmounts([0.1, 0.2, 0.3, 0.7, -0.6, 1e3, -1e3, 0.05])).toBe(0.75);
  expect(sumAmounts([1e100, 1, -1e100])).toBe(1);
  expect(sumAmounts([5e-324, 1e100, -1e100])).toBe(5e-324);
});

test('amounts have one sum in any order, and one amount is its own sum', () => {
  fc.assert(
    fc.property(fc.array(amount, { maxLength: 20 }), fc.infiniteStream(fc.nat()), (amounts, keys) => {
      const shuffled = amounts.map((value) => ({ value, key: keys.next().value })).sort((a, b) => a.key - b.key);
      expect(sumAmounts(shuffled.map(({ value }) => value))).toBe(sumAmounts(amounts));
    }),
  );
  fc.assert(fc.property(amount, (value) => expect(sumAmounts([value])).toBe(value === 0 ? 0 : value)));
});
