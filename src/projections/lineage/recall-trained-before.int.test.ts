import { expect, test } from '@jest/globals';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { recordBatches } from '../../testing/record-batches.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { seedOf } from './recall-seeds.ts';
import { readTouched } from './recall-touched.ts';

const database = useTestDatabase({ emptied: 'before-each' });
const JUDGE = { name: 'late-judge', revision: '1' };

/** Records three batches whose samples a scorer judges afterwards, and updates by the first two of them. */
async function given(rewardsAt: (judgement: number) => readonly (string | undefined)[]) {
  const builder = new EventBuilder('judged late');
  const { lineageId, batchIds, runId } = recordBatches(builder, { policyId: 'pupil', batches: 3, members: 2 });
  const trees = builder.events.filter(({ type }) => type === 'TreeOpened').map(({ stream }) => stream);
  const inTrees = builder.events.filter((event) => trees.includes(event.stream)).length; // one partition, offsets from 0
  for (const event of [...builder.events])
    if (event.type === 'RewardAssigned' && event.data.component === 'environment')
      builder.record(
        'RewardRevised',
        { rewardId: event.data.rewardId, treeId: event.data.treeId, value: 0, scorer: JUDGE, reason: '' },
        runId,
      );
  for (const [i, at] of rewardsAt(inTrees).entries())
    builder.record(
      'PolicyUpdated',
      {
        lineageId,
        policyId: 'pupil',
        version: i + 1,
        parentVersion: i,
        batchId: batchIds[i] ?? null,
        checkpointId: builder.id('checkpoint', i),
        weights: 'a'.repeat(64),
        estimator: null,
        loss: null,
        samples: 2,
        metrics: {},
        ...(at === undefined ? {} : { rewardsAt: at }),
      },
      lineageId,
    );
  await givenEvents(database.db, builder.events);
  return { batchIds, trees };
}

async function recalled(): Promise<readonly (readonly [string, number])[]> {
  const { db } = database;
  expect(await db.selectFrom('quarantine').select('reason').execute()).toEqual([]);
  const { batches } = await readTouched(db, await seedOf(db, { kind: 'scorer', ...JUDGE }));
  return batches.map(({ batchId, samples }) => [batchId, samples]);
}

test('a recall of a scorer leaves out batches that were trained before it judged', async () => {
  const { batchIds } = await given((judgement) => [`trees.0:${judgement}`, `trees.0:${judgement + 100}`]);
  expect(await recalled()).toEqual(batchIds.slice(1).map((batchId) => [batchId, 2])); // the last one is not trained yet
});

test('a batch whose update records no position of rewards counts as touched', async () => {
  const { batchIds } = await given(() => [undefined, 'runs.0:1']);
  expect(await recalled()).toEqual([batchIds[0], batchIds[2]].map((batchId) => [batchId, 2]));
});
