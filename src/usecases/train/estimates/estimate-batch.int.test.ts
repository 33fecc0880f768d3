import { expect, test } from '@jest/globals';
import { EventBuilder } from '../../../testing/event-builder.ts';
import { givenEvents } from '../../../testing/given-events.ts';
import { recordBatch, recordGroup, recordLineage } from '../../../testing/record-training.ts';
import { useTestDatabase } from '../../../testing/use-test-database.ts';
import { stepRowsOf } from '../../../training/backends/step-rows-of.ts';
import { readBatchRows } from '../../../training/rows/read-batch-rows.ts';
import { readBatchUpdate } from '../../../training/versions/read-batch-update.ts';
import { advantagesOf, estimateBatch } from './estimate-batch.ts';
import { samplesOf } from './samples-of.ts';

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
