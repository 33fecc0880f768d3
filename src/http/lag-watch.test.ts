import { expect, test } from '@jest/globals';
import { topicsOf } from '../projections/concerns.ts';
import { journal } from '../projections/journal/journal.ts';
import type { ProjectionStatus } from '../projections/projection-statuses.ts';
import { watchLag } from './lag-watch.ts';

const [topic = ''] = topicsOf(journal);
const at = (next: number) => new Map([[topic, new Map([[0, next]])]]);
const statusAt = (next: number): ProjectionStatus => ({
  name: journal.name,
  version: 1,
  state: 'running',
  reason: null,
  cursors: at(next),
});

test('the lag in seconds is the time since the first look at the log that saw what is not folded yet', () => {
  let clock = 0;
  const look = watchLag(() => clock);
  const lagAfter = (seconds: number, cursor: number, end: number) => {
    clock += seconds * 1_000;
    return look([journal], [statusAt(cursor)], at(end)).get(journal.name);
  };
  expect(lagAfter(0, 0, 0)).toBe(0);
  expect(lagAfter(10, 0, 5)).toBe(0); // seen for the first time
  expect(lagAfter(10, 0, 9)).toBe(10);
  expect(lagAfter(10, 5, 9)).toBe(10); // what the look before the last one saw is folded
  expect(lagAfter(10, 9, 9)).toBe(0);
  expect(lagAfter(10, 9, 10)).toBe(0);
  expect(lagAfter(7, 9, 10)).toBe(7);
});
