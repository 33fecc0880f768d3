import { expect, test } from '@jest/globals';
import { newId } from '../../events/new-id.ts';
import { randomPolicy } from '../../policies/random-policy.ts';
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

test('read models that lie before the end that the log had for a resumed collector admit nobody until they have caught up', async () => {
  const policy = randomPolicy();
  const from = new Map([['trees', new Map([[0, 7]])]]);
  await move(6);
  const admission = openAdmission(database.db, rules, policy, noPin, from);
  await expect(admission.admit(newId(), AbortSignal.timeout(200))).rejects.toThrow();
  await move(7);
  expect(await admission.admit(newId(), new AbortController().signal)).toBe(policy);
});

test('read models that regressed admit nobody until they have caught up with what they had shown', async () => {
  const policy = randomPolicy();
  const admission = openAdmission(database.db, rules, policy, noPin);
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
