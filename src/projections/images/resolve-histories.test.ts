import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type HistoryLink, resolveHistories } from './resolve-histories.ts';

function links(...given: readonly HistoryLink[]): ReadonlyMap<string, HistoryLink> {
  return new Map(given.map((link) => [link.step, link]));
}

function resolveHistory(known: ReadonlyMap<string, HistoryLink>, stepId: string): readonly string[] | undefined {
  return resolveHistories(known, [stepId]).get(stepId);
}

test('a growing history consists of the previously shown part and the new one', () => {
  const known = links(
    { step: 'a', prefix: null, from: 0, to: 0, segments: [] },
    { step: 'b', prefix: 'a', from: 0, to: 0, segments: ['1'] },
    { step: 'c', prefix: 'b', from: 0, to: 1, segments: ['2', '3'] },
  );
  expect(resolveHistory(known, 'a')).toEqual([]);
  expect(resolveHistory(known, 'c')).toEqual(['1', '2', '3']);
});

test('any chain of ranges resolves to the intended list', () => {
  const choices = fc.array(fc.tuple(fc.nat(), fc.nat(), fc.nat(), fc.nat(3)), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(choices, (recorded) => {
      const known = new Map<string, HistoryLink>();
      const meant: string[][] = [];
      recorded.forEach(([where, a, b, fresh], i) => {
        const base = i === 0 ? undefined : where % i;
        const shown = base === undefined ? [] : (meant[base] ?? []);
        const [from = 0, to = 0] = [a % (shown.length + 1), b % (shown.length + 1)].sort((x, y) => x - y);
        const segments = Array.from({ length: fresh }, (_, k) => `${i}.${k}`);
        known.set(`${i}`, { step: `${i}`, prefix: base === undefined ? null : `${base}`, from, to, segments });
        meant.push([...shown.slice(from, to), ...segments]);
      });
      meant.forEach((list, i) => {
        expect(resolveHistory(known, `${i}`)).toEqual(list);
      });
      const all = resolveHistories(known, [...known.keys(), 'nobody']);
      expect(meant.map((_, i) => all.get(`${i}`))).toEqual(meant);
      expect(all.size).toBe(meant.length);
    }),
  );
});

test('a window reads only the steps that it covers', () => {
  const window = links(
    { step: 'b', prefix: 'a', from: 1, to: 2, segments: ['3'] },
    { step: 'c', prefix: 'b', from: 1, to: 2, segments: ['4'] },
  );
  expect(resolveHistory(window, 'c')).toEqual(['3', '4']);
  expect(() => resolveHistory(window, 'b')).toThrow('the history of step a is not among those that were read');
});
