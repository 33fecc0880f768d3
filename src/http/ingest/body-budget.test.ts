import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createBodyBudget, SLOW_MS } from './body-budget.ts';

test('the bytes of all bodies count together and are released when one is closed', () => {
  const budget = createBodyBudget(10, () => 0);
  const [a, b] = [budget.open(), budget.open()];
  expect(a.take(6)).toBe(true);
  expect(b.take(5)).toBe(false);
  expect(b.take(4)).toBe(true);
  a.close();
  a.close(); // closing twice releases the bytes once
  expect(b.take(6)).toBe(true);
  expect(b.take(1)).toBe(false);
});

test('the largest of the slow bodies is evicted, and no other', () => {
  let now = 0;
  const budget = createBodyBudget(100, () => now);
  const [small, large, whole] = [budget.open(), budget.open(), budget.open()];
  for (const [share, bytes] of [
    [small, 20],
    [large, 30],
    [whole, 50],
  ] as const)
    expect(share.take(bytes)).toBe(true);
  whole.arrived();
  now = SLOW_MS - 1;
  expect(budget.open().take(10)).toBe(false);
  now = SLOW_MS;
  const next = budget.open();
  expect(next.take(10)).toBe(true);
  expect([small, large, whole].map(({ evicted }) => evicted.aborted)).toEqual([false, true, false]);
  expect(large.take(1)).toBe(false); // what gave way does not come back
  expect(next.take(61)).toBe(false); // the complete one stays, though the small one was evicted for it
  expect(next.take(101)).toBe(false);
});

const steps = fc.array(
  fc.record({ who: fc.nat(5), does: fc.constantFrom('take', 'take', 'arrived', 'close', 'wait'), bytes: fc.nat(60) }),
  { maxLength: 100 },
);

test('accepted bodies never hold more than the limit, and a body that has arrived is not evicted', () => {
  fc.assert(
    fc.property(steps, (all) => {
      let now = 0;
      const budget = createBodyBudget(100, () => now);
      const bodies = Array.from({ length: 6 }, () => ({ share: budget.open(), bytes: 0, whole: false }));
      for (const { who, does, bytes } of all) {
        const body = bodies[who];
        if (!body) throw new Error('there are six');
        if (does === 'wait') now += SLOW_MS / 2;
        if (does === 'take' && body.share.take(bytes)) body.bytes += bytes;
        if (does === 'arrived') {
          body.share.arrived();
          body.whole ||= !body.share.evicted.aborted;
        }
        if (does === 'close') {
          body.share.close();
          Object.assign(body, { share: budget.open(), bytes: 0, whole: false });
        }
        const remaining = bodies.filter(({ share }) => !share.evicted.aborted);
        expect(remaining.reduce((sum, each) => sum + each.bytes, 0)).toBeLessThanOrEqual(100);
        for (const each of bodies) if (each.whole) expect(each.share.evicted.aborted).toBe(false);
      }
    }),
  );
});
