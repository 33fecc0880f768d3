import { expect, test } from '@jest/globals';
import { measureEpisodes } from '../../domain/evaluation/measure-episodes.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { readEpisodes } from '../evaluations/read-evaluations.ts';
import { readDepthTotals, readRunTotals } from './read-run-totals.ts';

const database = useTestDatabase({ emptied: 'never' });

test.each([
  [[0.75e100, 0.25e100], 0.5e100],
  [[1e100, -1e100], 0],
  [[0.1, 0.2], 0.15],
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

test('the success rate of a run, of a depth and of an evaluation is one number: successes per finished rollout', async () => {
  const builder = new EventBuilder('one success rate');
  const run = builder.run();
  const tree = builder.tree(run, 'tree');
  const ends = [
    { outcome: 'terminated', success: true },
    { outcome: 'terminated', success: false },
    { outcome: 'truncated', success: null },
    { outcome: 'failed', success: null },
  ] as const;
  ends.forEach((end, ordinal) => {
    const rolloutId = builder.rollout(tree, ordinal);
    let leaf = tree.rootStepId;
    for (let depth = 1; depth <= ordinal + 1; depth++) leaf = builder.step(tree, rolloutId, leaf, depth);
    builder.finishRollout(tree, rolloutId, leaf, end);
  });
  builder.rollout(tree, ends.length); // goes on
  await givenEvents(database.db, builder.events);
  const { db } = database;
  const episodes = measureEpisodes(await readEpisodes(db, run), { confidence: 0.95, resamples: 10, seed: 1 });
  expect(episodes.successRate).toBe(0.25);
  expect(await readRunTotals(db, [run])).toMatchObject([{ rollouts: 5, successes: 1, successRate: episodes.successRate }]);
  expect(await readDepthTotals(db, [run])).toEqual([
    {
      runId: run,
      taskDepth: 1,
      trees: 1,
      tasks: 1,
      rollouts: 5,
      finished: 4,
      successes: 1,
      successRate: episodes.successRate,
      rewarded: 0,
      meanReturn: null,
      meanSteps: 2.5,
      maxSteps: 4,
    },
  ]);
});

test('there is no success rate where the environment judges no rollout, and none before one is finished', async () => {
  const builder = new EventBuilder('unjudged');
  const [unjudged, going] = [builder.run('unjudged'), builder.run('going')];
  const tree = builder.tree(unjudged, 'tree');
  const rolloutId = builder.rollout(tree, 0);
  const leaf = builder.step(tree, rolloutId, tree.rootStepId, 1, {});
  builder.finishRollout(tree, rolloutId, leaf, { steps: 1, success: null });
  builder.rollout(builder.tree(going, 'tree'), 0);
  await givenEvents(database.db, builder.events);
  const totals = await readRunTotals(database.db, [unjudged, going]);
  expect(totals.map(({ successRate }) => successRate)).toEqual([null, null]);
});
