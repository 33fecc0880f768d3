import { expect, test } from '@jest/globals';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { readDepthTotals, readRunTotals } from './read-run-totals.ts';

const database = useTestDatabase({ emptied: 'never' });

test.each([
  [[0.75e100, 0.25e100], 0.5e100],
  [[1e100, -1e100], 0],
  [[0.1, 0.2], 0.15000000000000002],
  [[5e-324, 1.5e-323], 1e-323],
])('the mean of the returns %j is %d, however large or small they are', async (returns, mean) => {
  const builder = new EventBuilder(`totals ${returns}`);
  const run = builder.run();
  const tree = builder.tree(run, 'tree');
  returns.forEach((value, ordinal) => {
    const rolloutId = builder.rollout(tree, ordinal);
    const leaf = builder.step(tree, rolloutId, tree.rootStepId, 1, { termination: 'terminated' });
    builder.reward(tree, leaf, value, { rolloutId });
    builder.finishRollout(tree, rolloutId, leaf, { steps: 1, success: true });
  });
  await givenEvents(database.db, builder.events);
  expect((await readRunTotals(database.db, [run])).map(({ meanReturn }) => meanReturn)).toEqual([mean]);
  expect((await readDepthTotals(database.db, [run])).map(({ meanReturn }) => meanReturn)).toEqual([mean]);
});
