import { expect, test } from '@jest/globals';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { recordGroup, recordLineage } from '../../testing/record-training.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { readAwaitingGreedy, readGreedySiblings } from './read-greedy-siblings.ts';
import { readFirstTrainingRun } from './read-training-runs.ts';

const database = useTestDatabase({ emptied: 'never' });

const POLICY = 'linear:greedy';

test('a closed group waits for the greedy rollout of its own task by its own version, and has the first that finished', async () => {
  const builder = new EventBuilder('greedy siblings');
  const of = (channel: string) => ({ config: { training: { policyId: POLICY, channel } } });
  const [learning, baseline] = [builder.run('learning', of('train')), builder.run('baseline', of('baseline'))];
  recordLineage(builder, POLICY);
  const group = (run: string, task: string, version: number, rewards: number[]) =>
    recordGroup(builder, run, task, { policyId: POLICY, version, rewards });
  const compared = group(learning, 'compared', 0, [0, 1]);
  const waiting = group(learning, 'waiting', 0, [1, 0]);
  const sibling = group(baseline, 'compared', 0, [1, 0]);
  group(baseline, 'waiting', 1, [1]); // by another version
  await givenEvents(database.db, builder.events);
  expect(await readGreedySiblings(database.db, POLICY, [compared.treeId, waiting.treeId])).toEqual([
    { treeId: compared.treeId, rolloutId: sibling.rolloutIds[0], siblingTreeId: sibling.treeId },
  ]);
  expect(await readAwaitingGreedy(database.db, POLICY)).toEqual([{ treeId: waiting.treeId, alias: 'waiting' }]);
  expect(await readFirstTrainingRun(database.db, POLICY)).toBe(learning);
  expect(await readFirstTrainingRun(database.db, 'linear:another')).toBeNull();
});
