import { expect, test } from '@jest/globals';
import { newId } from '../../events/new-id.ts';
import { randomPolicy } from '../../policies/random-policy.ts';
import { openBatcherWorld } from '../../testing/batcher-world.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { recordGroup, recordLineage } from '../../testing/record-training.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { readRefusedGroups } from '../../training/read-plan-request.ts';
import { openAdmission } from './train-admission.ts';

const database = useTestDatabase({ emptied: 'never' });
const rules = { policyId: 'r', groupsPerBatch: 1, mode: 'bounded', maxStaleness: 0, untilVersion: null } as const;
const noPin = () => Promise.reject(new Error('bounded groups follow the newest'));

test('a group whose members are alike frees its place when its end is folded, before the planner says anything of it', async () => {
  const policy = randomPolicy();
  const builder = new EventBuilder('refused');
  recordLineage(builder, 'r', { groupsPerBatch: 1 });
  const runId = builder.run('collect', { config: { training: { policyId: 'r', channel: 'train' } } });
  const alike = recordGroup(builder, runId, 'alike', { policyId: 'r', rewards: [1, 1] });
  const fit = recordGroup(builder, runId, 'fit', { policyId: 'r', rewards: [0, 1] });
  const closed = builder.events.filter(({ type }) => type === 'TreeClosed');
  const world = openBatcherWorld(
    database.db,
    builder.events.filter((event) => !closed.includes(event)),
  );
  await world.project();
  const admission = openAdmission({ db: database.db, live: policy, atLeast: noPin, refused: readRefusedGroups }, rules);
  const { signal } = new AbortController();
  await admission.admit(alike.treeId, signal); // both were begun before
  await admission.admit(fit.treeId, signal);
  expect(admission.expecting()).toBe(false);
  for (const { treeId } of [alike, fit]) admission.closing(treeId);
  expect(await readRefusedGroups(database.db, 'r')).toEqual([]);
  world.record(closed);
  await world.project();
  expect(await readRefusedGroups(database.db, 'r')).toEqual([alike.treeId]);
  await expect(admission.admit(newId(), AbortSignal.timeout(200))).rejects.toThrow(); // a place for one, and the fit group has it
  expect(admission.expecting()).toBe(false);
  const two = openAdmission(
    { db: database.db, live: policy, atLeast: noPin, refused: readRefusedGroups },
    { ...rules, groupsPerBatch: 2 },
  );
  expect(await two.admit(newId(), signal)).toBe(policy);
});
