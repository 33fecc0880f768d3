import { expect, test } from '@jest/globals';
import { failuresOf } from './answers.ts';
import { askedOperations, NOT_ASKED, namedOperations } from './operation-questions.ts';
import type { Figure } from './outcome.ts';

const figure = (name: string, value: number, goal: Figure['goal']): Figure => ({ name, value, unit: 'ms', baseline: null, goal });
const below = { kind: 'below', limit: 100 } as const;

test('a late answer and a sequential scan fail the bench, what only informs does not', () => {
  const figures = [figure('in time, p95', 99.9, below), figure('CPU', 500, null), figure('late, p95', 100, below)];
  expect(failuresOf(figures, ['samples planned: samples'])).toEqual([
    'sequential scan of 1000 rows or more: samples planned: samples',
    'late, p95: 100.0 ms, goal < 100 ms',
  ]);
  expect(failuresOf(figures.slice(0, 2), [])).toEqual([]);
});

test('every operation of the studio and every example is asked, or is named with what it reads in place of a list', async () => {
  const asked = askedOperations({ runs: 4, trees: 60, tasks: 15 });
  const named = [...(await namedOperations()).keys()];
  expect([...Object.keys(asked), ...Object.keys(NOT_ASKED)].sort()).toEqual(named.sort());
  expect(Object.entries(asked).filter(([, ways]) => ways.length === 0)).toEqual([]);
});
