import { expect, test } from '@jest/globals';
import { journal } from '../projections/journal/journal.ts';
import type { ProjectionStatus } from '../projections/projection-statuses.ts';
import { watchStalls } from './stalled-projections.ts';

const at = (cursor: number): ProjectionStatus => ({
  name: journal.name,
  version: journal.version,
  state: 'running',
  reason: null,
  cursors: new Map([['runs', new Map([[0, cursor]])]]),
});
const ends = (end: number) => new Map([['runs', new Map([[0, end]])]]);

test('a projection that does not move for 15 s although it has records to read is named with the partition', () => {
  let now = 0;
  const { look } = watchStalls(() => now);
  expect(look([journal], [at(3)], ends(5))).toEqual([]);
  now = 15_000;
  expect(look([journal], [at(3)], ends(6))).toEqual([]);
  now = 15_001;
  expect(look([journal], [at(3)], ends(6))).toEqual([expect.stringMatching(/journal has not moved for over 15 s on runs\.0,/)]);
  expect(look([journal], [at(4)], ends(6))).toEqual([]);
});

test('a projection that has read everything is not stalled, however long nothing comes', () => {
  let now = 0;
  const { look } = watchStalls(() => now);
  expect(look([journal], [at(5)], ends(5))).toEqual([]);
  now = 60_000;
  expect(look([journal], [at(5)], ends(5))).toEqual([]);
  expect(look([journal], [at(5)], ends(6))).toEqual([]); // it came just now
});
