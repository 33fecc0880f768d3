import { describe, expect, test } from '@jest/globals';
import { EventBuilder } from '../../../testing/event-builder.ts';
import { givenEvents } from '../../../testing/given-events.ts';
import { emptyReadModels } from '../../../testing/read-models.ts';
import { recordBatches } from '../../../testing/record-batches.ts';
import { recordBatch, recordGroup, recordLineage } from '../../../testing/record-training.ts';
import { useTestDatabase } from '../../../testing/use-test-database.ts';
import { stepRowsOf } from '../../../training/backends/step-row.ts';
import { readBatchRows } from '../../../training/rows/read-batch-rows.ts';
import { stepLayout } from '../../../training/rows/step-layout.ts';
import { readBatchUpdate } from '../../../training/versions/read-batch-update.ts';
import { advantagesOf, estimateBatch, estimateBothWays, estimateGroups, rowAdvantages, samplesOf } from './estimate-batch.ts';

const database = useTestDatabase({ emptied: 'before-each' });
const POLICY = 'model:test';
const noBlobs = { get: () => Promise.reject(new Error('nothing is read')) };

test('the estimates of a batch are those of its rows with every text, which no estimator but one of linear weights reads', async () => {
  const builder = new EventBuilder('estimates');
  const runId = builder.run('run', { config: { training: { policyId: POLICY, channel: 'train' } } });
  const group = (name: string, rewards: readonly number[]) => recordGroup(builder, runId, name, { policyId: POLICY, rewards });
  recordLineage(builder, POLICY);
  const { batchId } = recordBatch(builder, POLICY, [group('one', [0, 1, 0.5]), group('other', [1, 1])]);
  await givenEvents(database.db, builder.events);
  const rows = await readBatchRows(database.db, noBlobs, batchId);
  expect(rows.trajectories.flatMap(({ steps }) => steps.map(({ action }) => action)).every((action) => action !== '')).toBe(true);
  const update = await readBatchUpdate(database.db, batchId);
  if (!update) throw new Error('it is planned');
  const stepRows = stepRowsOf(rows);
  const found = await advantagesOf(stepRows, update, noBlobs);
  if (found.kind === 'refused') throw new Error(found.reason);
  const estimates = await estimateBatch(database.db, noBlobs, batchId, 'now');
  expect(estimates.samples).toEqual(samplesOf(rows, stepRows, found));
  expect(estimates.samples.map(({ advantage }) => advantage?.toFixed(3))).toEqual(['-1.000', '1.000', '0.000', '0.000', '0.000']);
});

test('the rows of steps that have one id in two trees of a batch have each the advantages of their own', async () => {
  const builder = new EventBuilder('estimates');
  const { batchIds } = recordBatches(builder, { policyId: POLICY, groups: 2, members: 2, steps: 2 });
  const [one = '', other = ''] = builder.events.flatMap(({ type, stream }) => (type === 'TreeOpened' ? [stream] : []));
  const stepsOf = (tree: string) =>
    builder.events.flatMap(({ type, stream, data }) =>
      type === 'StepTaken' && stream === tree && 'stepId' in data ? [String(data.stepId)] : [],
    );
  const theirs = stepsOf(other);
  const renamed = (text: string) => stepsOf(one).reduce((said, id, i) => said.replaceAll(theirs[i] ?? '', id), text);
  await givenEvents(
    database.db,
    builder.events.map((event) => JSON.parse(event.stream === other ? renamed(JSON.stringify(event)) : JSON.stringify(event))),
  );
  await database.pool.query('update rewards set value = -value where tree_id = $1', [other]); // its advantages are others
  const rows = await readBatchRows(database.db, noBlobs, batchIds[0] ?? '');
  const { samples } = await estimateBatch(database.db, noBlobs, batchIds[0] ?? '', 'now');
  const wanted = samples.flatMap(({ steps }) => steps.flatMap(({ advantage }) => [advantage, advantage, advantage])); // tokens
  const { tensors } = stepLayout(rows, await rowAdvantages(database.db, noBlobs, rows));
  const found = [...(tensors.find(({ name }) => name === 'advantages')?.data ?? [])];
  expect(new Set(samples.flatMap(({ steps }) => steps.map(({ stepId }) => stepId))).size).toBe(4); // of eight
  expect(found.map((advantage) => advantage.toFixed(4))).toEqual(wanted.map((advantage) => advantage?.toFixed(4)));
});

/** Records of each batch that a trainer made an update of it. */
async function taken(backend: string): Promise<void> {
  await database.pool.query(
    `insert into checkpoints (checkpoint_id, lineage_id, policy_id, version, backend, weights, saved_at)
     select batch_id, lineage_id, policy_id, 0, $1, '', now() from batches`,
    [backend],
  );
  await database.pool.query(
    `insert into policy_versions (lineage_id, version, policy_id, parent_version, batch_id, checkpoint_id, weights, estimator, samples,
       metrics, updated_at)
     select lineage_id, v, policy_id, case v when 1 then 0 end, case v when 1 then batch_id end, batch_id, '',
       case v when 1 then estimator end, samples, '{"loss": 0}', now() from batches, generate_series(0, 1) v`,
  );
}

describe('groups of a batch', () => {
  const given = async (backend: 'torch' | 'another' = 'torch') => {
    const builder = new EventBuilder('estimates');
    const { batchIds } = recordBatches(builder, { policyId: POLICY, groups: 3, members: 3, steps: 2 });
    await givenEvents(database.db, builder.events);
    await taken(backend);
    await database.pool.query('update rewards set value = value + hashtext(reward_id::text) / 1e9'); // groups with returns of their own
    const { rows } = await database.pool.query<{ tree: string }>('select tree_id as tree from batch_samples order by place');
    return { batchId: batchIds[0] ?? '', trees: [...new Set(rows.map(({ tree }) => tree))] };
  };

  test('any of them have the estimates that they have in their batch, with the rewards of now and with those trained on', async () => {
    const { batchId, trees } = await given();
    for (const rewards of ['now', 'trained'] as const) {
      const { samples, grain } = await estimateBatch(database.db, noBlobs, batchId, rewards);
      expect([grain, ...samples.map(({ place }) => place)]).toEqual(['token', 0, 1, 2, 3, 4, 5, 6, 7, 8]);
      for (const some of [...trees.map((tree) => [tree]), trees.slice(1), trees]) {
        const wanted = new Set(some);
        const found = await estimateGroups(database.db, noBlobs, batchId, { rewards, trees: wanted });
        expect(found).toEqual(samples.filter(({ treeId }) => wanted.has(treeId)));
      }
    }
  });

  test('what is read once for the rewards of now and for those trained on is what each of them is by itself', async () => {
    const { batchId } = await given();
    const [now, trained] = [
      await estimateBatch(database.db, noBlobs, batchId, 'now'),
      await estimateBatch(database.db, noBlobs, batchId, 'trained'),
    ];
    expect(now.samples).not.toEqual(trained.samples);
    expect(await estimateBothWays(database.db, noBlobs, batchId)).toEqual({ now, trained });
  });

  test('a group is estimated where another of its batch is not in the read models', async () => {
    const { batchId, trees } = await given();
    const [one = '', other = ''] = trees;
    const { samples } = await estimateBatch(database.db, noBlobs, batchId, 'now');
    await database.pool.query('delete from rollouts where tree_id = $1', [other]);
    const ask = (tree: string) => estimateGroups(database.db, noBlobs, batchId, { rewards: 'now', trees: new Set([tree]) });
    expect(await ask(one)).toEqual(samples.slice(0, 3));
    await expect(ask(other)).rejects.toMatchObject({ code: 'incomplete' });
    await expect(estimateBatch(database.db, noBlobs, batchId, 'now')).rejects.toMatchObject({ code: 'incomplete' });
  });

  test('no group is estimated alone by what whitens over its batch, nor of a batch that no trainer of ours has taken', async () => {
    const askAll = ({ batchId, trees }: Awaited<ReturnType<typeof given>>) =>
      estimateGroups(database.db, noBlobs, batchId, { rewards: 'now', trees: new Set(trees) });
    expect(await askAll(await given('another'))).toBeNull();
    await emptyReadModels(database.db);
    const own = await given();
    expect(await askAll(own)).toHaveLength(9);
    await database.pool.query(
      `update policy_versions set estimator = '{"name": "reinforce_plus_plus", "revision": "2", "mode": {}}' where version = 1`,
    );
    expect(await askAll(own)).toBeNull();
    await database.pool.query('delete from policy_versions where version = 1'); // it waits for its update
    expect(await askAll(own)).toBeNull();
  });
});
