import { expect, test } from '@jest/globals';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { MemoryBlobs } from '../../testing/memory-blobs.ts';
import { recordBatches } from '../../testing/record-batches.ts';
import { recordGroup } from '../../testing/record-training.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { readRewardState } from '../../training/rows/reward-state.ts';
import { createPackedRows } from './packed-rows.ts';

const database = useTestDatabase({ emptied: 'never' });

test('packed rows are cached for the next reader until a reward is revised or the cache is full', async () => {
  const builder = new EventBuilder('kept');
  const { batchIds, runId } = recordBatches(builder, { policyId: 'kept', batches: 2 });
  await givenEvents(database.db, builder.events);
  const world = { db: database.db, blobs: new MemoryBlobs() };
  const [first = '', second = ''] = batchIds;
  const packed = createPackedRows(world);
  const once = await packed.get(first, 'step');
  expect(await packed.get(first, 'step')).toBe(once);
  expect(await Promise.all([packed.get(second, 'step'), packed.get(second, 'step')])).toEqual([
    await packed.get(second, 'step'),
    await packed.get(second, 'step'),
  ]);
  const reward = builder.events.find((event) => event.type === 'RewardAssigned');
  if (reward?.type !== 'RewardAssigned' || once.kind !== 'encoded')
    throw new Error('a reward was recorded, and rows have tokens');
  const { rewardId, treeId } = reward.data;
  const scorer = { name: 'judge', revision: '2' };
  await givenEvents(database.db, [
    builder.record('RewardRevised', { rewardId, treeId, value: 7, scorer, reason: 'seen again' }, runId),
  ]);
  expect(await packed.get(first, 'step')).toMatchObject({ digest: expect.not.stringContaining(once.digest) });

  const small = createPackedRows(world, once.bytes + 1); // room for one of the two
  const kept = await small.get(second, 'step');
  await small.get(first, 'step');
  expect(await small.get(second, 'step')).not.toBe(kept);
});

test('packed rows are others when a reward of the greedy rollout that their group is compared with is revised', async () => {
  const builder = new EventBuilder('compared');
  const { batchIds, runId } = recordBatches(builder, { policyId: 'compared' });
  const [batchId = ''] = batchIds;
  await givenEvents(database.db, builder.events);
  const before = await readRewardState(database.db, batchId);
  const group = await database.db
    .selectFrom('batchSamples as b')
    .innerJoin('trees as t', 't.treeId', 'b.treeId')
    .innerJoin('samples as s', 's.rolloutId', 'b.rolloutId')
    .select(['t.alias', 's.oldestVersion'])
    .where('b.batchId', '=', batchId)
    .executeTakeFirstOrThrow();
  const baseline = builder.run('baseline', { config: { training: { policyId: 'compared', channel: 'baseline' } } });
  const from = builder.events.length;
  const version = Number(group.oldestVersion);
  recordGroup(builder, baseline, group.alias, { policyId: 'compared', version, rewards: [1] });
  const greedy = builder.events.slice(from);
  await givenEvents(database.db, [...builder.events.slice(0, from).filter(({ type }) => type === 'RunStarted'), ...greedy]);
  const compared = await readRewardState(database.db, batchId);
  expect(compared).not.toBe(before);
  const reward = greedy.find((event) => event.type === 'RewardAssigned');
  if (reward?.type !== 'RewardAssigned') throw new Error('a reward was recorded');
  const { rewardId, treeId } = reward.data;
  const scorer = { name: 'judge', revision: '2' };
  await givenEvents(database.db, [
    builder.record('RewardRevised', { rewardId, treeId, value: 7, scorer, reason: 'seen again' }, runId),
  ]);
  expect(await readRewardState(database.db, batchId)).not.toBe(compared);
});

test('rows that could not be read are requested again, and the failure is not cached', async () => {
  const builder = new EventBuilder('lost blob');
  const observation = { blob: 'f'.repeat(64), size: 70_000, mediaType: 'text/plain' };
  const { batchIds } = recordBatches(builder, { policyId: 'lost blob' });
  const events = builder.events.map((event) =>
    event.type === 'TreeOpened' ? { ...event, data: { ...event.data, observation } } : event,
  );
  await givenEvents(database.db, events);
  const packed = createPackedRows({ db: database.db, blobs: new MemoryBlobs() });
  for (let i = 0; i < 2; i++) await expect(packed.get(batchIds[0] ?? '', 'step')).rejects.toMatchObject({ code: 'blob' });
});
