import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createRandom } from '../random/random.ts';
import { bootstrapInterval, bootstrapIntervals } from './bootstrap-interval.ts';
import { type Episode, measureEpisodes } from './measure-episodes.ts';

const bootstrap = { confidence: 0.95, resamples: 500, seed: 1 };

describe('bootstrapInterval', () => {
  test('the interval of equal values is that value', () => {
    expect(bootstrapInterval([[0.5], [0.5], [0.5]], bootstrap)).toEqual({ low: 0.5, high: 0.5 });
  });

  test('the interval contains the observed mean and stays within the observed range', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 1 }), { minLength: 1, maxLength: 40 }), fc.nat(), (values, seed) => {
        const { low, high } = bootstrapInterval(
          values.map((value) => [value]),
          { ...bootstrap, seed },
        );
        const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
        expect(low).toBeLessThanOrEqual(mean + 1e-12);
        expect(high).toBeGreaterThanOrEqual(mean - 1e-12);
        expect(low).toBeGreaterThanOrEqual(0);
        expect(high).toBeLessThanOrEqual(1);
      }),
      { numRuns: 60 },
    );
  });

  test('the interval covers the true rate of coins about as often as its confidence promises', () => {
    const coins = createRandom('coins');
    let covered = 0;
    for (let experiment = 0; experiment < 300; experiment++) {
      const flips = Array.from({ length: 60 }, () => [coins.next() < 0.3 ? 1 : 0]);
      const { low, high } = bootstrapInterval(flips, { ...bootstrap, resamples: 300, seed: experiment });
      if (low <= 0.3 && 0.3 <= high) covered++;
    }
    expect(covered / 300).toBeGreaterThan(0.9);
    expect(covered / 300).toBeLessThan(0.985);
  });

  test('the bootstrap depends on its seed alone and draws whole groups: ten equal episodes of a task count as one', () => {
    const values = [[0], [1], [1], [0], [1]];
    expect(bootstrapInterval(values, bootstrap)).toEqual(bootstrapInterval(values, bootstrap));
    const tenfold = values.map(([value = 0]) => Array.from({ length: 10 }, () => value));
    expect(bootstrapInterval(tenfold, bootstrap)).toEqual(bootstrapInterval(values, bootstrap));
  });

  test('intervals of several series at once are those of each by itself, whatever the numbers of their groups', () => {
    const random = createRandom('series');
    const series = [7, 3, 7, 7, 1].map((groups) =>
      Array.from({ length: groups }, () => Array.from({ length: random.int(3) + 1 }, () => random.next())),
    );
    const bounds = { ...bootstrap, resamples: 50 };
    expect(bootstrapIntervals(series, bounds)).toEqual(series.map((groups) => bootstrapInterval(groups, bounds)));
    expect(bootstrapIntervals([], bounds)).toEqual([]);
    expect(() => bootstrapIntervals([[[1]], [[]]], bounds)).toThrow('nothing to resample');
  });

  test('a sample without an interval is refused', () => {
    expect(() => bootstrapInterval([], bootstrap)).toThrow('nothing to resample');
    expect(() => bootstrapInterval([[1]], { ...bootstrap, confidence: 95 })).toThrow('between 0 and 1, not 95');
    expect(() => bootstrapInterval([[1]], { ...bootstrap, resamples: 0 })).toThrow('1 or more, not 0');
  });
});

describe('measureEpisodes', () => {
  const episode = (taskId: string, part: Partial<Episode> = {}): Episode => ({
    taskId,
    taskDepth: 1,
    return: 0,
    success: false,
    actions: ['inventory'],
    ...part,
  });

  test('measureEpisodes returns means, loops and success by depth', () => {
    const measures = measureEpisodes(
      [
        episode('a', { return: 1, success: true, actions: ['get 1 x', 'craft'] }),
        episode('a', { return: 1, success: true, actions: ['craft'] }),
        episode('b', { taskDepth: 3, actions: ['l', 'r', 'l', 'r', 'l', 'r'] }),
        episode('c', { taskDepth: null, actions: ['i', 'i', 'i'] }),
      ],
      bootstrap,
    );
    expect(measures).toMatchObject({ tasks: 3, episodes: 4, meanReturn: 0.5, successRate: 0.5, meanSteps: 3 });
    expect(measures.byDepth).toEqual([
      { taskDepth: 1, episodes: 2, successes: 2 },
      { taskDepth: 3, episodes: 1, successes: 0 },
      { taskDepth: null, episodes: 1, successes: 0 },
    ]);
    expect(measures.repeatedActions).toEqual([
      { length: 1, perEpisode: 0.75 },
      { length: 2, perEpisode: 0.75 },
      { length: 3, perEpisode: 0 },
      { length: 4, perEpisode: 0 },
    ]);
  });

  test('the order of the episodes does not change the result', () => {
    const one = fc.record({
      taskId: fc.constantFrom('a', 'b', 'c'),
      taskDepth: fc.constantFrom(1, 2, null),
      return: fc.double({ min: 0, max: 1, noNaN: true }),
      success: fc.boolean(),
      actions: fc.array(fc.constantFrom('x', 'y'), { maxLength: 6 }),
    });
    fc.assert(
      fc.property(fc.array(one, { minLength: 1, maxLength: 12 }), fc.nat(), (episodes, seed) => {
        const shuffled = createRandom(seed).shuffle(episodes);
        expect(measureEpisodes(shuffled, { ...bootstrap, resamples: 20 })).toEqual(
          measureEpisodes(episodes, { ...bootstrap, resamples: 20 }),
        );
      }),
    );
  });
});
