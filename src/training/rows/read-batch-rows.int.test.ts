import { describe, expect, test } from '@jest/globals';
import { derivedId } from '../../events/derived-id.ts';
import { pack } from '../../events/packed.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { MemoryBlobs } from '../../testing/memory-blobs.ts';
import { recordBatch, recordBatches, recordedIds } from '../../testing/record-batches.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import type { BatchRows } from './batch-rows.ts';
import { encodeRows } from './encode-rows.ts';
import type { Layout } from './layout.ts';
import { readBatchRows } from './read-batch-rows.ts';
import { readSafetensors } from './safetensors.ts';

const database = useTestDatabase({ emptied: 'never' });
const blobs = new MemoryBlobs();

async function recorded(name: string, shape: Omit<Parameters<typeof recordBatches>[1], 'policyId'> = {}) {
  const builder = new EventBuilder(name);
  const batches = recordBatches(builder, { policyId: name, ...shape });
  await givenEvents(database.db, builder.events);
  return { builder, ...batches };
}
function bodyOf(rows: BatchRows, layout: Layout) {
  const encoded = encodeRows(rows, layout);
  if (encoded.kind === 'refused') throw new Error(encoded.message);
  const body = readSafetensors(Buffer.concat(encoded.parts));
  const numbers = (name: string) => [...(body.tensors.get(name)?.data ?? [])];
  const shape = (name: string) => body.tensors.get(name)?.shape;
  const texts = JSON.parse(Buffer.from(body.tensors.get('texts')?.data as Uint8Array).toString('utf8'));
  return { ...encoded, metadata: body.metadata, numbers, shape, texts };
}

describe('rows of a batch', () => {
  test('the rows are the recorded paths with their tokens, spans, rewards and candidates, in the order of the manifest', async () => {
    const { batchIds, rollouts, runId } = await recorded('whole', { groups: 2, members: 2, steps: 2 });
    const rows = await readBatchRows(database.db, blobs, batchIds[0] ?? '');
    expect(rows.batch).toMatchObject({ policyId: 'whole', ordinal: 0, estimator: { name: 'grpo' }, shards: [[0, 1, 2, 3]] });
    expect(rows.trajectories.map(({ rolloutId }) => rolloutId)).toEqual(rollouts[0]);
    expect(rows.trajectories.map(({ group }) => group)).toEqual([0, 0, 1, 1]);
    const second = rows.trajectories[1];
    expect(second).toMatchObject({
      runId,
      environment: 'textcraft',
      outcome: 'terminated',
      success: true,
      temperature: 0.5,
      from: 0,
      goal: 'craft whole 0 0',
      firstObservation: 'Goal: craft whole 0 0.',
      instruction: 'Craft what is asked.',
      rewards: [{ component: 'format', value: 0.25, scorer: { name: 'environment', revision: '1' } }],
    });
    const [first, last] = second?.steps ?? [];
    expect([...(first?.tokens?.ids ?? [])]).toEqual(recordedIds(1, 1, 3));
    expect([...(last?.tokens?.logProbs ?? [])]).toEqual([-0.5, -1, -1.5]);
    expect([...(last?.tokens?.mask ?? [])]).toEqual([1, 1, 1]);
    expect([first?.candidates, last?.candidates]).toEqual([
      ['wait', 'inventory'],
      ['inventory', 'go 1'],
    ]);
    expect(last?.anchor).toBe('1'.padStart(64, '0')); // the state in which the step before it ended
    expect([first?.termination, last?.termination]).toEqual(['none', 'terminated']);
    expect([first?.rewards, last?.rewards]).toEqual([[], [expect.objectContaining({ component: 'environment', value: 0.5 })]]);
    expect(last?.spans).toEqual([{ from: 0, to: 3, policyId: 'whole', version: 1 }]);
  });

  test('the rows contain steps of an earlier rollout as context, and train only their own', async () => {
    const policyId = 'branched';
    const builder = new EventBuilder(policyId);
    const run = builder.run();
    const tree = builder.tree(run);
    const earlier = builder.rollout(tree, 0);
    const tokens = (id: number) => ({ ids: pack('int32', [id]), logProbs: null, mask: null });
    const shared = builder.step(tree, earlier, tree.rootStepId, 1, { tokens: tokens(1) });
    const end = builder.step(tree, earlier, shared, 2, { tokens: tokens(2), termination: 'terminated' });
    builder.finishRollout(tree, earlier, end, { steps: 2 });
    const younger = builder.rollout(tree, 1, { fromStepId: shared });
    const own = builder.step(tree, younger, shared, 2, {
      tokens: tokens(3),
      termination: 'truncated',
      admissibleActions: ['go on'],
    });
    builder.finishRollout(tree, younger, own, { outcome: 'truncated', steps: 1 });
    builder.closeTree(tree, 2);
    const batchId = recordBatch(builder, policyId, tree.treeId, [earlier, younger]);
    await givenEvents(database.db, builder.events);
    const rows = await readBatchRows(database.db, blobs, batchId);
    expect(rows.trajectories.map(({ steps, from }) => [steps.map(({ stepId }) => stepId), from])).toEqual([
      [[shared, end], 0],
      [[shared, own], 1],
    ]);
    expect(rows.trajectories[1]?.after).toEqual(['go on']); // what its end could have gone on with
    const body = bodyOf(rows, 'step');
    expect(body.numbers('responses')).toEqual([1, 2, 3]);
    expect(body.numbers('has_log_probs')).toEqual([0, 0, 0]);
    expect(body.numbers('policy_versions')).toEqual([-1, -1, -1]); // sampled by another policy
    expect([body.numbers('terminated'), body.numbers('truncated')]).toEqual([
      [0, 1, 0],
      [0, 0, 1],
    ]);
    expect(body.texts[1]).toMatchObject({ from: 1, steps: [{ action: 'inventory' }, { action: 'inventory' }] });
  });

  test('mismatched arrays, a missing blob and an unplanned batch are each reported', async () => {
    const policyId = 'damaged';
    const builder = new EventBuilder(policyId);
    const tree = builder.tree(builder.run());
    const rollout = builder.rollout(tree);
    const tokens = { ids: pack('int32', [1, 2]), logProbs: pack('float32', [-1]), mask: null };
    const leaf = builder.step(tree, rollout, tree.rootStepId, 1, { tokens });
    builder.finishRollout(tree, rollout, leaf);
    const lost = { blob: 'e'.repeat(64), size: 70_000, mediaType: 'text/plain' };
    const other = builder.tree(builder.run('other'), 'other', { observation: lost });
    const walked = builder.walk(other, 0, 1, 1);
    const batches = [
      recordBatch(builder, policyId, tree.treeId, [rollout]),
      recordBatch(builder, 'gone', other.treeId, [walked.rolloutId]),
    ];
    await givenEvents(database.db, builder.events);
    await expect(readBatchRows(database.db, blobs, batches[0] ?? '')).rejects.toMatchObject({
      name: 'RowsError',
      code: 'tokens',
      message: expect.stringContaining(leaf),
    });
    await expect(readBatchRows(database.db, blobs, batches[1] ?? '')).rejects.toMatchObject({ code: 'blob' });
    await expect(readBatchRows(database.db, blobs, derivedId('nobody'))).rejects.toMatchObject({ code: 'unknown-batch' });
  });
});

describe('layout step', () => {
  test('layout step has a row per step, jagged columns, rewards by component, and texts that restore a policy over candidates', async () => {
    const { batchIds, rollouts } = await recorded('stepped', { members: 2, steps: 2 });
    const body = bodyOf(await readBatchRows(database.db, blobs, batchIds[0] ?? ''), 'step');
    expect(body.metadata).toMatchObject({ format: 'espalier.rows/1', layout: 'step' });
    expect(JSON.parse(body.metadata.rows ?? '')).toMatchObject({
      components: ['environment', 'format'],
      trajectories: rollouts[0],
    });
    expect(body.numbers('cu_seqlens')).toEqual([0, 3, 6, 9, 12]);
    expect(body.numbers('responses')).toEqual(
      [recordedIds(0, 1, 3), recordedIds(0, 2, 3), recordedIds(1, 1, 3), recordedIds(1, 2, 3)].flat(),
    );
    expect(body.numbers('response_mask')).toEqual(Array(12).fill(1));
    expect(body.numbers('policy_versions')).toEqual([0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1]);
    expect(body.numbers('rollout_log_probs').slice(0, 4)).toEqual([-0.5, -1, -1.5, -0.5]);
    expect(body.numbers('has_log_probs')).toEqual([1, 1, 1, 1]);
    expect([body.shape('rewards'), body.numbers('rewards')]).toEqual([
      [4, 2],
      [0, 0, 0, 0, 0, 0, 0.5, 0],
    ]);
    expect([body.shape('trajectory_rewards'), body.numbers('trajectory_rewards')]).toEqual([
      [2, 2],
      [0, 0.25, 0, 0.25],
    ]);
    expect([body.numbers('trajectory_index'), body.numbers('step_indices')]).toEqual([
      [0, 0, 1, 1],
      [0, 1, 0, 1],
    ]);
    expect([body.numbers('terminated'), body.numbers('truncated')]).toEqual([
      [0, 1, 0, 1],
      [0, 0, 0, 0],
    ]);
    expect(body.texts[0]).toMatchObject({
      goal: 'craft stepped 0 0',
      firstObservation: 'Goal: craft stepped 0 0.',
      temperature: 0.5,
      steps: [{ action: 'inventory', candidates: ['wait', 'inventory'] }, { candidates: ['inventory', 'go 1'] }],
    });
  });

  test('layout step accepts steps without recorded tokens, as rows of length 0', async () => {
    const policyId = 'by text';
    const builder = new EventBuilder(policyId);
    const tree = builder.tree(builder.run());
    const { rolloutId } = builder.walk(tree, 0, 2, 1);
    const batchId = recordBatch(builder, policyId, tree.treeId, [rolloutId]);
    await givenEvents(database.db, builder.events);
    const rows = await readBatchRows(database.db, blobs, batchId);
    const body = bodyOf(rows, 'step');
    expect([body.numbers('cu_seqlens'), body.numbers('has_log_probs')]).toEqual([
      [0, 0, 0],
      [0, 0],
    ]);
    expect(encodeRows(rows, 'verl')).toMatchObject({ kind: 'refused', message: expect.stringContaining('no recorded tokens') });
  });

  test('the digest changes with a revised reward, and only then', async () => {
    const { batchIds, builder, runId } = await recorded('revised', { members: 1, steps: 1 });
    const read = async () => bodyOf(await readBatchRows(database.db, blobs, batchIds[0] ?? ''), 'step').digest;
    const before = await read();
    expect(await read()).toBe(before);
    const reward = builder.events.find((event) => event.type === 'RewardAssigned');
    if (reward?.type !== 'RewardAssigned') throw new Error('a reward was recorded');
    const { rewardId, treeId } = reward.data;
    const scorer = { name: 'judge', revision: '2' };
    const revised = builder.record('RewardRevised', { rewardId, treeId, value: 7, scorer, reason: 'seen again' }, runId);
    await givenEvents(database.db, [revised]);
    expect(await read()).not.toBe(before);
  });
});

describe('layout verl', () => {
  test('layout verl has a row per trajectory, masks the tokens of observations, and puts rewards on the last sampled token', async () => {
    const { batchIds } = await recorded('merged', { members: 2, steps: 2, tokens: 2, observationTokens: 2 });
    const body = bodyOf(await readBatchRows(database.db, blobs, batchIds[0] ?? ''), 'verl');
    expect(body.numbers('cu_seqlens')).toEqual([0, 6, 12]);
    expect(body.numbers('responses').slice(0, 6)).toEqual([...recordedIds(0, 1, 4), ...recordedIds(0, 2, 2)]);
    expect(body.numbers('response_mask').slice(0, 6)).toEqual([1, 1, 0, 0, 1, 1]);
    expect(body.numbers('policy_versions').slice(0, 6)).toEqual([0, 0, -1, -1, 1, 1]);
    expect(body.numbers('token_level_scores')).toEqual([0, 0, 0, 0, 0, 0.25, 0, 0, 0, 0, 0, 0.75]);
    expect([body.numbers('num_turns'), body.numbers('terminated')]).toEqual([
      [2, 2],
      [1, 1],
    ]);
    expect(body.numbers('rewards')).toEqual([0, 0.25, 0.5, 0.25]);
  });

  test('layout verl is refused with the alternative where observations were recorded as text alone', async () => {
    const { batchIds } = await recorded('holes', { steps: 2 });
    const rows = await readBatchRows(database.db, blobs, batchIds[0] ?? '');
    expect(encodeRows(rows, 'verl')).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('tokens of its observation'),
      remedy: expect.stringContaining('layout=step'),
    });
    const single = await recorded('single turn', { steps: 1 });
    expect(bodyOf(await readBatchRows(database.db, blobs, single.batchIds[0] ?? ''), 'verl').numbers('num_turns')).toEqual([
      1, 1,
    ]);
  });
});

describe('layout padded', () => {
  test('layout padded is layout verl as rectangles, whose padding no mask and no position counts', async () => {
    const { batchIds } = await recorded('padded', { members: 2, steps: 2, tokens: 2, observationTokens: 2 });
    const rows = await readBatchRows(database.db, blobs, batchIds[0] ?? '');
    const [long, short] = rows.trajectories;
    if (!long || !short) throw new Error('the batch has two trajectories');
    const body = bodyOf({ ...rows, trajectories: [long, { ...short, steps: short.steps.slice(0, 1) }] }, 'padded');
    const second = (name: string) => body.numbers(name).slice(6);
    expect(['responses', 'attention_mask', 'position_ids', 'rollout_log_probs'].map(body.shape)).toEqual(Array(4).fill([2, 6]));
    expect(body.numbers('responses').slice(0, 6)).toEqual([...recordedIds(0, 1, 4), ...recordedIds(0, 2, 2)]);
    expect(second('responses')).toEqual([...recordedIds(1, 1, 4), 0, 0]);
    expect(second('attention_mask')).toEqual([1, 1, 1, 1, 0, 0]);
    expect(second('response_mask')).toEqual([1, 1, 0, 0, 0, 0]);
    expect(second('position_ids')).toEqual([0, 1, 2, 3, 0, 0]);
    expect(second('policy_versions')).toEqual([0, 0, -1, -1, -1, -1]);
    expect(body.numbers('token_level_scores').slice(0, 6)).toEqual([0, 0, 0, 0, 0, 0.25]);
    expect(body.shape('cu_seqlens')).toBeUndefined();
    expect(body.numbers('num_turns')).toEqual([2, 1]);
  });
});
