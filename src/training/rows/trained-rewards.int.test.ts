import { expect, test } from '@jest/globals';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { MemoryBlobs } from '../../testing/memory-blobs.ts';
import { recordBatches } from '../../testing/record-batches.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { estimateBatch } from '../../usecases/train/estimates/estimate-batch.ts';
import { stepRowsOf } from '../backends/step-row.ts';
import { encodeRows } from './encode-rows.ts';
import { readBatchRows } from './read-batch-rows.ts';
import { readSafetensors } from './safetensors.ts';

const database = useTestDatabase({ emptied: 'never' });
const blobs = new MemoryBlobs();

/** Two rollouts with environment 0 and 0.5, and format 0.25 on each; then a scorer measures them, the other way round. */
async function measured(policyId: string, rewards?: Readonly<Record<string, number>>) {
  const builder = new EventBuilder(policyId);
  const { batchIds, rollouts } = recordBatches(builder, { policyId, steps: 1, ...(rewards ? { rewards } : {}) });
  await givenEvents(database.db, builder.events);
  const batchId = batchIds[0] ?? '';
  const read = () => readBatchRows(database.db, blobs, batchId);
  const before = await read();
  const [opened] = builder.events.filter(({ type }) => type === 'TreeOpened');
  if (opened?.type !== 'TreeOpened') throw new Error('a tree was recorded');
  const { treeId, runId } = opened.data;
  const recorded = builder.events.length;
  for (const [i, rolloutId] of (rollouts[0] ?? []).entries())
    builder.reward({ treeId, runId }, null, 1 - i, {
      rolloutId,
      component: 'answer-f1',
      scorer: { name: 'answer-f1', revision: '1' },
    });
  await givenEvents(database.db, builder.events.slice(recorded));
  return { batchId, before, after: await read() };
}
const totals = (rows: Awaited<ReturnType<typeof readBatchRows>>) => stepRowsOf(rows).map(({ reward }) => reward);
function tensorOf(rows: Awaited<ReturnType<typeof readBatchRows>>, layout: 'step' | 'verl', name: string): number[] {
  const encoded = encodeRows(rows, layout);
  if (encoded.kind === 'refused') throw new Error(encoded.message);
  return [...(readSafetensors(Buffer.concat(encoded.parts)).tensors.get(name)?.data ?? [])];
}

test('a scorer that measures a run changes no row of it: rows sum the declared components', async () => {
  const { batchId, before, after } = await measured('declared', { environment: 1 });
  expect([totals(before), totals(after)]).toEqual([
    [0, 0.5],
    [0, 0.5],
  ]);
  expect(after).toEqual(before);
  const estimates = await estimateBatch(database.db, blobs, batchId, 'now');
  expect(estimates.samples.map((sample) => sample.return)).toEqual([0, 0.5]);
  expect(tensorOf(after, 'verl', 'rewards')).toEqual([0, 0.5]);
});

test('each declared component counts by its weight, in rows of every layout, in estimates and in what estimators see', async () => {
  const { batchId, after } = await measured('weighted', { environment: 1, format: 2, 'answer-f1': -0.5 });
  expect(totals(after)).toEqual([0, 1]); // 0 + 2 · 0.25 − 0.5 · 1 and 0.5 + 2 · 0.25 − 0.5 · 0
  expect(tensorOf(after, 'step', 'step_scores')).toEqual([0, 1]);
  expect(tensorOf(after, 'verl', 'token_level_scores')).toEqual([0, 0, 0, 0, 0, 1]);
  const { samples } = await estimateBatch(database.db, blobs, batchId, 'now');
  expect(samples.map((sample) => sample.return)).toEqual([0, 1]);
  expect(samples[0]?.rewards.map(({ component, value, weight }) => [component, value, weight]).sort()).toEqual([
    ['answer-f1', 1, -0.5],
    ['format', 0.25, 2],
  ]);
});

test('a batch planned before declarations named their components is trained on the sum of all of them', async () => {
  const { before, after } = await measured('of old');
  expect([totals(before), totals(after)]).toEqual([
    [0.25, 0.75],
    [1.25, 0.75],
  ]);
});
