import { expect, test } from '@jest/globals';
import { newId } from '../../events/new-id.ts';
import { gate } from '../../log/contract/watch.ts';
import { randomPolicy } from '../../policies/random-policy.ts';
import { openBatcherWorld } from '../../testing/batcher-world.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { recordGroup, recordLineage } from '../../testing/record-training.ts';
import { until } from '../../testing/until.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { openAdmission } from './train-admission.ts';

const database = useTestDatabase({ emptied: 'never' });

const rules = { policyId: 'p', groupsPerBatch: 1, mode: 'bounded', maxStaleness: 1, untilVersion: null } as const;
const noPin = () => Promise.reject(new Error('bounded groups follow the newest'));

/** Moves the cursor of the pool. */
const move = (to: number) =>
  database.pool.query(
    `insert into cursors (projection, version, topic, partition, next_offset)
     select name, version, 'trees', 0, $1 from projections where name = 'training-pool'
     on conflict (projection, version, topic, partition) do update set next_offset = excluded.next_offset`,
    [to],
  );

test('a group that waits is admitted at the notice behind which a place is free, without looking in between', async () => {
  const policy = randomPolicy();
  const builder = new EventBuilder('admission');
  const lineageId = recordLineage(builder, 'q');
  const runId = builder.run('collect', { config: { training: { policyId: 'q', channel: 'train' } } });
  const { treeId, rolloutIds } = recordGroup(builder, runId, 'task', { policyId: 'q', rewards: [1, 1] });
  const world = openBatcherWorld(database.db, builder.events);
  await world.project();
  const moved = gate();
  let [count, waits] = [0, 0];
  const moves = {
    get count() {
      return count;
    },
    async beyond(seen: number) {
      waits += 1;
      if (count <= seen) await moved.opened;
    },
  };
  const rulesOfOne = { ...rules, policyId: 'q', maxStaleness: 0 };
  const admission = openAdmission({ db: database.db, live: policy, atLeast: noPin, moves }, rulesOfOne);
  const { signal } = new AbortController();
  expect(await admission.admit(treeId, signal)).toBe(policy); // it was begun before
  const second = admission.admit(newId(), signal);
  await until(() => waits === 1);
  const recorded = builder.events.length;
  for (const rolloutId of rolloutIds)
    builder.record(
      'SampleRejected',
      { lineageId, policyId: 'q', groupId: treeId, rolloutId, reason: 'zero-variance', rule: 'all alike', measured: 1 },
      lineageId,
    );
  world.record(builder.events.slice(recorded));
  await world.project();
  count += 1;
  moved.open();
  expect(await second).toBe(policy);
  expect(waits).toBe(1);
});

test('read models that lie before the end that the log had for a resumed collector admit nobody until they have caught up', async () => {
  const policy = randomPolicy();
  const from = new Map([['trees', new Map([[0, 7]])]]);
  await move(6);
  const admission = openAdmission({ db: database.db, live: policy, atLeast: noPin, from }, rules);
  await expect(admission.admit(newId(), AbortSignal.timeout(200))).rejects.toThrow();
  await move(7);
  expect(await admission.admit(newId(), new AbortController().signal)).toBe(policy);
});

test('read models that regressed admit nobody until they have caught up with what they had shown', async () => {
  const policy = randomPolicy();
  const admission = openAdmission({ db: database.db, live: policy, atLeast: noPin }, rules);
  const { signal } = new AbortController();
  await move(10);
  expect(await admission.admit(newId(), signal)).toBe(policy);
  await move(9);
  let admitted = false;
  const second = admission.admit(newId(), signal).then((given) => {
    admitted = given === policy;
  });
  // Another look at the same models begins behind the second's first one, and is refused as long.
  await expect(admission.admit(newId(), AbortSignal.timeout(200))).rejects.toThrow();
  expect(admitted).toBe(false);
  await move(10);
  await second;
  expect(admitted).toBe(true);
});
