import { expect, test } from '@jest/globals';
import { askedOperations, NOT_ASKED, namedOperations } from './operation-questions.ts';

test('every operation of the studio and every example is asked, or is named with what it reads in place of a list', async () => {
  const asked = askedOperations({ runs: 4, trees: 60, tasks: 15 });
  const named = [...(await namedOperations()).keys()];
  expect([...Object.keys(asked), ...Object.keys(NOT_ASKED)].sort()).toEqual(named.sort());
  expect(Object.entries(asked).filter(([, ways]) => ways.length === 0)).toEqual([]);
});
