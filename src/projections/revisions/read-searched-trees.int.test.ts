import { expect, test } from '@jest/globals';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { readSearchedTree } from './read-searched-trees.ts';

const database = useTestDatabase({ emptied: 'before-each' });

test('of a group of rollouts one that nobody rewarded is neither good nor bad: no trajectory ends with it', async () => {
  const builder = new EventBuilder('groups');
  const runId = builder.run();
  const tree = builder.tree(runId);
  const leaves = [0, 1, null].map((value, i) => {
    const rolloutId = builder.rollout(tree, i);
    const stepId = builder.step(tree, rolloutId, tree.rootStepId, 1, { response: `act ${i}`, termination: 'terminated' });
    if (value !== null) builder.reward(tree, stepId, value, { rolloutId });
    builder.finishRollout(tree, rolloutId, stepId, { steps: 1 });
    return stepId;
  });
  await givenEvents(database.db, builder.events);
  const read = await readSearchedTree(database.db, tree.treeId, async () => '');
  const steps = leaves.map((id) => read?.tree.nodes.get(id)?.step);
  expect(steps).toMatchObject([
    { terminal: true, visits: 1, score: 0 },
    { terminal: true, visits: 1, score: 1 },
    { terminal: false, visits: 0, score: 0 },
  ]);
  expect(read?.unrewarded).toBe(1);
  expect(read?.tree.root.step).toMatchObject({ visits: 2, valueSum: 1 });
});
