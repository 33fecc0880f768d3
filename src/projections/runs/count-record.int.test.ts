import { expect, test } from '@jest/globals';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { countRecord } from './read-run-totals.ts';
import { readRunIdsOf } from './read-runs.ts';

const database = useTestDatabase({ emptied: 'never' });

test('the record of a run is counted without the records of others, and roots are no steps', async () => {
  const builder = new EventBuilder('counted');
  const policy = { policyId: 'counted', version: 2 };
  const runs = ['one', 'other'].map((name) => {
    const run = builder.run(name, { policy });
    const tree = builder.tree(run, name);
    const rolloutId = builder.rollout(tree, 0);
    builder.finishRollout(tree, rolloutId, builder.step(tree, rolloutId, tree.rootStepId, 1, { termination: 'terminated' }));
    return run;
  });
  await givenEvents(database.db, builder.events);
  const [one = ''] = runs;
  const events = builder.events.filter(({ correlationId }) => correlationId === one).length;
  const bytes = expect.any(Number);
  expect(await countRecord(database.db, one)).toEqual({ events, trees: 1, rollouts: 1, steps: 1, bytes });
  expect([...(await readRunIdsOf(database.db, { policyId: 'counted' }, 9))].sort()).toEqual([...runs].sort());
  expect(await readRunIdsOf(database.db, { policyId: 'counted', environment: 'nowhere' }, 9)).toEqual([]);
});
