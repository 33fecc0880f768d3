import { expect, test } from '@jest/globals';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { chosenRollouts, countRollouts, type RolloutFilter } from './read-rollouts.ts';

const database = useTestDatabase({ emptied: 'before-each' });

test('rollouts are counted as many by what the folds count of their run as by a full count', async () => {
  const builder = new EventBuilder();
  const runs = [builder.run('one'), builder.run('two'), builder.run('without trees')];
  const tasks: string[] = [];
  for (const runId of runs.slice(0, 2)) {
    const trees = ['a', 'b', 'c'].map((name) => builder.tree(runId, name));
    for (const [t, tree] of trees.entries())
      for (const [ordinal, outcome] of (
        ['terminated', 'truncated', 'failed', 'cancelled', null, 'terminated'] as const
      ).entries()) {
        const rolloutId = builder.rollout(tree, ordinal);
        const leaf = builder.step(tree, rolloutId, tree.rootStepId, 1);
        if (outcome !== null) builder.finishRollout(tree, rolloutId, leaf, { outcome, success: ordinal === t });
      }
  }
  await givenEvents(database.db, builder.events);
  tasks.push(...(await database.db.selectFrom('trees').select('taskId').distinct().execute()).map(({ taskId }) => taskId));
  const parts: readonly Partial<RolloutFilter>[] = [
    {},
    ...[{ finished: true }, { finished: false }, { success: true }, { outcomes: [] }, { outcomes: ['terminated'] }],
    ...[{ outcomes: ['failed', 'cancelled'] }, { outcomes: ['failed', 'failed', 'nothing'] }, { policyVersionFrom: 1 }],
    ...[
      { outcomes: ['truncated'], finished: true },
      { outcomes: ['truncated'], finished: false },
    ],
    ...tasks.map((taskId) => ({ taskId, finished: true })),
  ];
  const filters = [...runs.map((runId) => ({ runId })), {}].flatMap((of) => parts.map((part) => ({ ...of, ...part })));
  const full: number[] = [];
  for (const filter of filters)
    full.push((await chosenRollouts(database.db, filter).select('rollouts.rolloutId').execute()).length);
  expect(await countRollouts(database.db, filters)).toEqual(full);
  expect(Math.max(...full)).toBe(36);
});
