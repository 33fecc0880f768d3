import { expect, test } from '@jest/globals';
import type { Envelope } from '../../../events/envelope.ts';
import { readLedgers } from '../../../projections/training-pool/read-ledger.ts';
import { readGroupCounts } from '../../../projections/training-pool/read-waiting.ts';
import { openBatcherWorld } from '../../../testing/batcher-world.ts';
import { EventBuilder } from '../../../testing/event-builder.ts';
import { recordGroup, recordLineage } from '../../../testing/record-training.ts';
import { useTestDatabase } from '../../../testing/use-test-database.ts';
import { planLineage } from './plan-lineage.ts';

const database = useTestDatabase({ emptied: 'before-each' });

const POLICY = 'shared name';
const CONFIG = { config: { training: { policyId: POLICY, channel: 'train' } } };

/** What a key of a project appended. */
function of(project: string, builder: EventBuilder): readonly Envelope[] {
  return builder.events.map((event) => ({ ...event, principal: `key:${project}`, project }) as Envelope);
}

/** A run of a project with one group of two rollouts. */
function collected(project: string): readonly Envelope[] {
  const builder = new EventBuilder(project);
  recordGroup(builder, builder.run('run', CONFIG), 'task', { policyId: POLICY, rewards: [0, 1] });
  return of(project, builder);
}

function declared(project: string): readonly Envelope[] {
  const builder = new EventBuilder(`policy of ${project}`);
  recordLineage(builder, POLICY, { groupsPerBatch: 1 });
  return of(project, builder);
}

test.each([
  ['before the policy was declared', [...collected('borealis'), ...declared('atlas'), ...collected('atlas')]],
  ['behind it', [...declared('atlas'), ...collected('atlas'), ...collected('borealis')]],
])('rollouts of a run of another project that named the policy %s enter no batch and no account', async (_, events) => {
  const world = openBatcherWorld(database.db, events);
  await world.project();
  const planned = await planLineage(world, POLICY, new AbortController().signal);
  expect(planned).toEqual({ kind: 'planned', batches: 1, samples: 2, rejected: 0 });
  await world.project();
  const own = events.flatMap((event) => (event.type === 'RolloutStarted' && event.project === 'atlas' ? [event.data] : []));
  const { db } = database;
  const samples = await db.selectFrom('batchSamples').select('rolloutId').execute();
  expect(samples.map(({ rolloutId }) => rolloutId).sort()).toEqual(own.map(({ rolloutId }) => rolloutId).sort());
  expect(await readLedgers(db, [POLICY])).toMatchObject([
    { produced: 2, owed: { planned: 2, ready: 0, group: 0 }, difference: 0 },
  ]);
  expect(await readGroupCounts(db, POLICY)).toMatchObject({ runs: 1 });
});

test('a batch belongs to the project of its policy, whichever project the planner works for', async () => {
  const world = openBatcherWorld(database.db, [...declared('atlas'), ...collected('atlas')]);
  await world.project();
  await planLineage(world, POLICY, new AbortController().signal);
  await world.project();
  const stamps = await database.db.selectFrom('events').select('body').where('type', '=', 'BatchPlanned').execute();
  expect(stamps.map(({ body }) => JSON.parse(String(body)))).toMatchObject([{ principal: 'local', project: 'atlas' }]);
});
