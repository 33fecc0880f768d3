import { expect, test } from '@jest/globals';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { readRecordedPath } from './read-recorded-path.ts';

const database = useTestDatabase({ emptied: 'before-each' });

test('the reward of a step of a path is the sum of what its environment gave there', async () => {
  const builder = new EventBuilder('path');
  const tree = builder.tree(builder.run('run'), 'task');
  const rolloutId = builder.rollout(tree, 0);
  const step = builder.step(tree, rolloutId, tree.rootStepId, 1);
  builder.reward(tree, step, 0.1, { rolloutId });
  builder.reward(tree, step, 0.2, { rolloutId, scorer: { name: 'environment', revision: '2' } });
  await givenEvents(database.db, builder.events);
  const path = await readRecordedPath(database.db, { treeId: tree.treeId, id: step }, async () => '');
  expect(path.map(({ reward }) => reward)).toEqual([0, 0.3]);
});
