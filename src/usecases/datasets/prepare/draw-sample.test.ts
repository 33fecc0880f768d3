import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Draw } from './collect-questions.ts';

const drawn = (ids: readonly string[], limit: number, seed = 1) => {
  const draw = new Draw<string>(seed, 'train', limit);
  for (const id of ids) draw.add(id, id);
  return draw.take();
};
const ids = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 6 }), { maxLength: 60 });

describe('sampling from a stream', () => {
  test('the order of the stream does not matter, and a larger sample begins with the smaller one', () => {
    fc.assert(
      fc.property(ids, fc.nat(40), fc.nat(40), fc.nat(), (all, small, more, seed) => {
        const sample = drawn(all, small, seed);
        expect(sample).toEqual(drawn([...all].reverse(), small, seed));
        expect(drawn(all, small + more, seed).slice(0, small)).toEqual(sample);
        expect(sample).toHaveLength(Math.min(small, all.length));
        expect(new Set(sample).size).toBe(sample.length);
      }),
    );
  });

  test('every item is drawn equally often over the seeds', () => {
    const all = Array.from({ length: 20 }, (_, i) => `question-${i}`);
    const times = new Map(all.map((id) => [id, 0]));
    const seeds = 1_000;
    for (let seed = 0; seed < seeds; seed++) for (const id of drawn(all, 5, seed)) times.set(id, (times.get(id) ?? 0) + 1);
    // Each count is binomial (1,000 draws of 1 in 4): mean 250, deviation 13.7. Five deviations leave one chance in 100,000 for
    // all 20.
    for (const count of times.values()) expect(Math.abs(count - 250)).toBeLessThan(69);
  });

  test('a sample of many more items fits in memory', () => {
    const draw = new Draw<number>(7, 'train', 100);
    for (let i = 0; i < 20_000; i++) draw.add(String(i), i);
    expect(draw.take()).toHaveLength(100);
  });
});
