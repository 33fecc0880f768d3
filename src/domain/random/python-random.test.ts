import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createPythonRandom } from './python-random.ts';

/**
 * The numbers are those of CPython 3.11, such as `random.Random(123).random()`. The published vectors are run by
 * `conformance/agent-r-vectors.slow.test.ts`.
 */
describe('createPythonRandom', () => {
  test('random() draws the numbers that CPython draws', () => {
    const stream = createPythonRandom(123);
    expect([1, 2, 3, 4].map(() => stream.random())).toEqual([
      0.052363598850944326, 0.08718667752263232, 0.4072417636703983, 0.10770023493843905,
    ]);
  });

  test('getrandbits() fills the low word first when it needs two', () => {
    const stream = createPythonRandom(123);
    for (let i = 0; i < 4; i++) stream.random();
    expect([1, 5, 31, 32, 33, 48, 53].map((k) => stream.getrandbits(k))).toEqual([
      1, 27, 81934378, 1628326613, 6597937532, 95925226367113, 467489375017295,
    ]);
  });

  test('a seed of more than 32 bits uses all of its words, and its sign does not count', () => {
    const wide = createPythonRandom(2 ** 40 + 7);
    expect([wide.random(), wide.randint(-5, 5), wide.choice([...'abcdef']), wide.getrandbits(53)]).toEqual([
      0.6137037779936511,
      5,
      'e',
      4286745464135043,
    ]);
    expect(createPythonRandom(2n ** 40n + 7n).random()).toBe(0.6137037779936511);
    expect(createPythonRandom(-7).random()).toBe(0.32383276483316237);
    expect(createPythonRandom(7).random()).toBe(0.32383276483316237);
  });

  test('seed 0 is a valid seed, and the state is twisted again after 624 words', () => {
    const zero = createPythonRandom(0);
    expect([zero.random(), ...[1, 2, 3, 4].map(() => zero.randbelow(1000003))]).toEqual([
      0.8444218515250481, 794772, 933488, 441001, 42450,
    ]);
    const five = createPythonRandom(5);
    for (let i = 0; i < 1500; i++) five.random();
    expect([five.random(), five.randbelow(2 ** 40 + 1)]).toEqual([0.9117617826415582, 479134390181]);
  });

  test('every draw stays within its bounds, and a shuffle keeps its items', () => {
    fc.assert(
      fc.property(
        fc.maxSafeInteger(),
        fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        fc.array(fc.nat()),
        (seed, n, items) => {
          const stream = createPythonRandom(seed);
          const drawn = stream.randbelow(n);
          expect(drawn >= 0 && drawn < n).toBe(true);
          expect(stream.shuffle(items).sort((a, b) => a - b)).toEqual([...items].sort((a, b) => a - b));
        },
      ),
    );
  });

  test('an impossible draw is refused', () => {
    const stream = createPythonRandom(1);
    expect(() => stream.choice([])).toThrow(RangeError);
    expect(() => stream.randbelow(0)).toThrow(RangeError);
    expect(() => stream.getrandbits(54)).toThrow(RangeError);
    expect(() => createPythonRandom(0.5)).toThrow(RangeError);
  });
});
