import { expect, test } from '@jest/globals';
import { comparedText } from './collect.ts';

test('the end of a run says how much was compared, and where nothing was, not that none differed', () => {
  expect(comparedText({ comparisons: null, undecided: 0, plannedRollouts: 4 })).toEqual([]);
  expect(comparedText({ comparisons: 0, undecided: 0, plannedRollouts: 4 })).toEqual([
    'no rollout was compared with an episode from the opening',
  ]);
  expect(comparedText({ comparisons: 0, undecided: 0, plannedRollouts: null })).toEqual([
    'no answer of the search was compared with an episode from the opening',
  ]);
  expect(comparedText({ comparisons: 1, undecided: 0, plannedRollouts: 4 })).toEqual([
    '1 rollout was compared with episodes from the opening, and none differed',
  ]);
  expect(comparedText({ comparisons: 2, undecided: 1, plannedRollouts: 4 })).toEqual([
    expect.stringContaining('1 differed: the environment claims to be deterministic and is not'),
  ]);
});
