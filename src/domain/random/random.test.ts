import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createRandom } from './random.ts';
import { seedFrom } from './seed-from.ts';

const seeds = fc.oneof(fc.string(), fc.maxSafeNat());

describe('createRandom', () => {
  test('createRandom draws the same numbers on every machine', () => {
    const random = createRandom(7);
    expect([random.int(1000), random.int(1000), random.int(1000), random.next()]).toEqual([247, 422, 644, 0.1603987405322339]);
  });

  test('equal seeds yield equal streams, and other seeds other streams', () => {
    fc.assert(
      fc.property(seeds, seeds, (one, other) => {
        const draw = (seed: string | number) => Array.from({ length: 8 }, createRandom(seed).next).join();
        expect(draw(one)).toBe(draw(one));
        if (one !== other) expect(draw(one)).not.toBe(draw(other));
      }),
    );
  });

  test('next() stays in [0, 1) and int(n) below n', () => {
    fc.assert(
      fc.property(seeds, fc.integer({ min: 1, max: 2 ** 32 }), (seed, n) => {
        const random = createRandom(seed);
        const [x, i] = [random.next(), random.int(n)];
        expect(x >= 0 && x < 1).toBe(true);
        expect(Number.isInteger(i) && i >= 0 && i < n).toBe(true);
      }),
    );
  });

  test('int() is uniform: 60,000 draws of a die lie within five standard deviations', () => {
    const random = createRandom('die');
    const counts = [0, 0, 0, 0, 0, 0];
    for (let i = 0; i < 60_000; i++) counts[random.int(6)]!++; // int(6) is 0..5
    for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(5 * Math.sqrt(60_000 * (1 / 6) * (5 / 6)));
  });

  test('shuffle() keeps the items and does not change its argument', () => {
    fc.assert(
      fc.property(seeds, fc.array(fc.nat()), (seed, items) => {
        const before = [...items];
        const shuffled = createRandom(seed).shuffle(items);
        expect(items).toEqual(before);
        expect([...shuffled].sort()).toEqual([...items].sort());
      }),
    );
  });

  test('a fork does not depend on earlier draws, and differs from its parent and its siblings', () => {
    const drawn = createRandom('x');
    drawn.next();
    const values = [
      createRandom('x'),
      createRandom('x').fork('a'),
      createRandom('x').fork('b'),
      createRandom('x').fork('a').fork('a'),
    ];
    expect(drawn.fork('a').next()).toBe(createRandom('x').fork('a').next());
    expect(new Set(values.map((random) => random.next())).size).toBe(values.length);
  });

  test('an impossible draw is refused', () => {
    for (const n of [0, -1, 1.5, 2 ** 33, Number.NaN]) expect(() => createRandom(1).int(n)).toThrow(RangeError);
    expect(() => createRandom(1).choice([])).toThrow(RangeError);
  });
});

describe('seedFrom', () => {
  test('seedFrom returns the same number on every machine', () => {
    expect([seedFrom(), seedFrom('run', 'task', 0, 1), seedFrom('é𐀀')]).toEqual([
      2552497302625745, 6410444335728397, 7510936802162809,
    ]);
  });

  test('a seed is a safe integer that depends on the kind and the borders of its parts', () => {
    const part = fc.oneof(fc.string(), fc.integer());
    fc.assert(
      fc.property(fc.array(part), fc.array(part), (one, other) => {
        expect(Number.isSafeInteger(seedFrom(...one)) && seedFrom(...one) >= 0).toBe(true);
        if (JSON.stringify(one) !== JSON.stringify(other)) expect(seedFrom(...one)).not.toBe(seedFrom(...other));
      }),
    );
    expect(new Set([seedFrom('1'), seedFrom(1), seedFrom('ab', 'c'), seedFrom('a', 'bc'), seedFrom('abc')]).size).toBe(5);
  });

  test('100,000 neighbouring seeds do not collide', () => {
    expect(new Set(Array.from({ length: 100_000 }, (_, i) => seedFrom('run', i))).size).toBe(100_000);
  });

  test('a number that is not finite is refused', () => {
    expect(() => seedFrom('x', Number.NaN)).toThrow(RangeError);
  });
});
