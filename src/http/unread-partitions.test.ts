import { expect, test } from '@jest/globals';
import { watchUnread } from './unread-partitions.ts';

test('partitions that nobody read for over 15 s are named, and no more once somebody reads them', () => {
  let now = 0;
  const { look } = watchUnread(() => now);
  const none = new Map([['trees', [0, 3]]]);
  expect(look(none)).toEqual([]);
  now = 15_000;
  expect(look(none)).toEqual([]);
  now = 15_001;
  expect(look(none)).toEqual([
    'no projection worker has read trees.0, trees.3 for over 15 s; start one, and look at the one that runs: a process that is frozen loses its partitions',
  ]);
  expect(
    look(
      new Map([
        ['runs', [0]],
        ['trees', [0, 1, 2, 3]],
      ]),
    ),
  ).toEqual([expect.stringContaining('has read trees.0, trees.3 for')]);
  expect(look(new Map())).toEqual([]);
  now = 60_000;
  expect(look(none)).toEqual([]); // it was read in between
});

test('three of many partitions are named', () => {
  let now = 0;
  const { look } = watchUnread(() => now);
  const all = new Map([['runs', [0, 1, 2, 3, 4]]]);
  look(all);
  now = 20_000;
  expect(look(all)).toEqual([expect.stringContaining('has read runs.0, runs.1, runs.2 and 2 more partitions for over 15 s')]);
});
