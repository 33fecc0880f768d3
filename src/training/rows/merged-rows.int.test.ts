import { expect, test } from '@jest/globals';
import { pack } from '../../events/packed.ts';
import { keyInTree } from '../../projections/of-tree.ts';
import { readDrift } from '../../projections/prompts/read-drift.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { MemoryBlobs } from '../../testing/memory-blobs.ts';
import { recordBatch } from '../../testing/record-batches.ts';
import { recordPrompt, type ShownPrompt } from '../../testing/record-prompt.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { encodeRows } from './encode-rows.ts';
import type { Layout } from './layout.ts';
import { readBatchRows } from './read-batch-rows.ts';
import { readPromptsOfBatch } from './read-prompts-of-rows.ts';
import { readSafetensors } from './safetensors.ts';

const database = useTestDatabase({ emptied: 'never' });
const blobs = new MemoryBlobs();

/** A step: the ids of its whole prompt, what was sampled, and its reward. */
type Turn = readonly [prompt: readonly number[] | null, sampled: readonly number[], reward?: number];

/** Records a batch of one group whose members took these steps. */
async function given(name: string, members: readonly (readonly Turn[])[], images: readonly string[] = [], redrawnAt = -1) {
  const builder = new EventBuilder(name);
  const runId = builder.run(name, { config: { temperature: 1, training: { policyId: name, channel: 'train' } } });
  const tree = builder.tree(runId, name);
  const rolloutIds = members.map((turns, ordinal) => {
    const rolloutId = builder.rollout(tree, ordinal, { policy: { policyId: name, version: 0 } });
    let [parent, before]: [string, ShownPrompt | null] = [tree.rootStepId, null];
    for (const [k, [ids, sampled, reward = 0]] of turns.entries()) {
      const logProbs = pack(
        'float32',
        sampled.map((_, t) => -(t + 1)),
      );
      parent = builder.step(tree, rolloutId, parent, k + 1, {
        policySpans: [{ from: 0, to: sampled.length, policyId: name, version: k }],
        tokens: { ids: pack('int32', sampled), logProbs, mask: null },
        termination: k === turns.length - 1 ? 'terminated' : 'none',
      });
      before = recordPrompt(builder, tree, {
        stepId: parent,
        text: `${ordinal} ${k}`,
        ids,
        sampled,
        before,
        images: k === redrawnAt ? [`${k}`.repeat(64)] : images,
      });
      if (reward !== 0) builder.reward(tree, parent, reward);
    }
    builder.reward(tree, null, 0.25, { rolloutId, component: 'format', raw: null });
    builder.finishRollout(tree, rolloutId, parent, { steps: turns.length });
    return rolloutId;
  });
  const batchId = recordBatch(builder, name, tree.treeId, rolloutIds);
  await givenEvents(database.db, builder.events);
  return { batchId, runId, treeId: tree.treeId, rolloutIds };
}

async function encoded(batchId: string, layout: Layout) {
  const rows = await readBatchRows(database.db, blobs, batchId);
  return encodeRows(rows, layout, { prompts: await readPromptsOfBatch(database.db, blobs, rows) });
}

async function bodyOf(batchId: string, layout: Layout) {
  const body = await encoded(batchId, layout);
  if (body.kind === 'refused') throw new Error(body.message);
  const { tensors, metadata } = readSafetensors(Buffer.concat(body.parts));
  const numbers = (name: string) => [...(tensors.get(name)?.data ?? [])];
  return { numbers, shape: (name: string) => tensors.get(name)?.shape, names: JSON.parse(metadata.rows ?? '') };
}

const MERGED: readonly Turn[] = [
  [[1, 2], [3, 4], 0.5],
  [[1, 2, 3, 4, 90, 91], [5]],
  [[1, 2, 3, 4, 90, 91, 5, 92], [6, 7], 1],
];
/** The reply 3, 4 comes back as 34. */
const DRIFTED: readonly Turn[] = [
  [[1, 2], [3, 4], 0.5],
  [[1, 2, 34, 90, 91], [5]],
  [[1, 2, 34, 90, 91, 5, 92], [6, 7], 1],
];

test('a trajectory whose prompts continue is one row, which masks the tokens between its steps and puts rewards at their ends', async () => {
  const { batchId, rolloutIds, treeId } = await given('continuing', [MERGED]);
  const body = await bodyOf(batchId, 'verl');
  expect([body.numbers('prompt_cu_seqlens'), body.numbers('prompts'), body.numbers('has_prompts')]).toEqual([
    [0, 2],
    [1, 2],
    [1],
  ]);
  expect(body.numbers('responses')).toEqual([3, 4, 90, 91, 5, 92, 6, 7]);
  expect(body.numbers('response_mask')).toEqual([1, 1, 0, 0, 1, 0, 1, 1]);
  expect(body.numbers('rollout_log_probs')).toEqual([-1, -2, 0, 0, -1, 0, -1, -2]);
  expect(body.numbers('policy_versions')).toEqual([0, 0, -1, -1, 1, -1, 2, 2]);
  expect(body.numbers('step_indices')).toEqual([0, 0, 0, 0, 1, 1, 2, 2]);
  expect(body.numbers('step_ends')).toEqual([1, 4, 7]);
  expect(body.numbers('token_level_scores')).toEqual([0, 0.5, 0, 0, 0, 0, 0, 1.25].map(Math.fround));
  expect(['trajectory_index', 'cut_index', 'first_step', 'num_turns', 'terminated'].map(body.numbers)).toEqual([
    [0],
    [0],
    [0],
    [3],
    [1],
  ]);
  expect(body.names).toEqual({
    components: ['environment', 'format'],
    trajectories: rolloutIds,
    uids: [treeId],
    tokenised: 'recorded',
  });
});

test('a trajectory is cut where a prompt does not continue, never glued, and the cuts are the counted drift of its run', async () => {
  const { batchId, runId } = await given('drifting', [DRIFTED, MERGED]);
  const body = await bodyOf(batchId, 'verl');
  expect(body.numbers('cu_seqlens')).toEqual([0, 2, 6, 14]);
  expect(body.numbers('responses')).toEqual([3, 4, 5, 92, 6, 7, 3, 4, 90, 91, 5, 92, 6, 7]);
  expect(body.numbers('prompts')).toEqual([1, 2, 1, 2, 34, 90, 91, 1, 2]);
  expect(['trajectory_index', 'cut_index', 'first_step', 'num_turns', 'terminated'].map(body.numbers)).toEqual([
    [0, 0, 1],
    [0, 1, 0],
    [0, 1, 0],
    [1, 2, 3],
    [0, 1, 1], // the end of the trajectory is that of its last row
  ]);
  expect(body.numbers('rewards')).toEqual([0.5, 0, 1, 0.25, 1.5, 0.25]);
  expect(body.names.trajectories).toHaveLength(2);
  const cuts = body.numbers('cut_index').filter((cut) => cut > 0).length;
  expect(await readDrift(database.db, [runId])).toEqual([expect.objectContaining({ runId, steps: cuts })]);
});

test('rectangles begin with the prompts, padded on the left, and positions count from the first token of the prompt', async () => {
  const { batchId } = await given('rectangles', [DRIFTED.slice(0, 2)]);
  const body = await bodyOf(batchId, 'padded');
  expect(['prompts', 'responses', 'input_ids', 'attention_mask', 'position_ids', 'response_mask'].map(body.shape)).toEqual([
    [2, 5],
    [2, 2],
    [2, 7],
    [2, 7],
    [2, 7],
    [2, 2],
  ]);
  expect(body.numbers('input_ids')).toEqual([0, 0, 0, 1, 2, 3, 4, 1, 2, 34, 90, 91, 5, 0]);
  expect(body.numbers('attention_mask')).toEqual([0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0]);
  expect(body.numbers('position_ids')).toEqual([0, 0, 0, 0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 0]);
  expect(body.numbers('step_indices')).toEqual([0, 0, 1, -1]);
});

test('a row of prompts with images names them in the order of its last prompt', async () => {
  const images = ['a'.repeat(64), 'b'.repeat(64)];
  const { batchId } = await given('pictured', [MERGED], images);
  expect((await bodyOf(batchId, 'verl')).names.images).toEqual([images]);
});

test('a prompt that shows another image on the same tokens begins a row: the steps before it were asked with other pixels', async () => {
  const { batchId } = await given('redrawn', [MERGED], ['c'.repeat(64)], 2);
  const body = await bodyOf(batchId, 'verl');
  expect([body.numbers('first_step'), body.numbers('num_turns')]).toEqual([
    [0, 2],
    [2, 1],
  ]);
  expect(body.names.images).toEqual([['c'.repeat(64)], ['2'.repeat(64)]]);
});

test('a server that returns no ids of its prompts is named with the step and the remedy', async () => {
  const { batchId } = await given('unnumbered', [MERGED.map(([, sampled]) => [null, sampled])]);
  expect(await encoded(batchId, 'verl')).toMatchObject({
    kind: 'refused',
    message: expect.stringMatching(/step [0-9a-f-]{36} of rollout .* no recorded tokens of its observation/),
    remedy: expect.stringContaining('prompt_token_ids'),
  });
});

test.each(['verl', 'padded'] as const)(
  'a reward, an advantage or a baseline beyond float32 is refused by its rollout in the layout %s',
  async (layout) => {
    const beyond: readonly Turn[] = [[[1, 2], [3, 4], 1e39]];
    const { batchId, rolloutIds } = await given(`beyond ${layout}`, [MERGED, beyond]);
    const refusal = (name: string, place: number) => ({
      kind: 'refused',
      message: `${name} of rollout ${rolloutIds[place]} holds a number beyond 3.4e38, which is infinite in float32`,
      remedy: expect.stringContaining('revise the rewards'),
    });
    expect(await encoded(batchId, layout)).toEqual(refusal('token_level_scores', 1));
    const { batchId: good, rolloutIds: members, treeId } = await given(`advantages ${layout}`, [MERGED, MERGED]);
    const rows = await readBatchRows(database.db, blobs, good);
    const prompts = await readPromptsOfBatch(database.db, blobs, rows);
    const { stepId = '' } = rows.trajectories[1]?.steps.at(-1) ?? {};
    const one = { advantages: Float64Array.of(1), returns: Float64Array.of(-1e39) };
    const advantages = {
      kind: 'estimated',
      method: rows.batch.estimator,
      ofStep: new Map([[keyInTree(treeId, stepId), one]]),
    } as const;
    expect(encodeRows(rows, layout, { prompts, advantages })).toMatchObject({
      message: expect.stringContaining(`returns of rollout ${members[1]} `),
    });
    const trajectories = rows.trajectories.map((each, i) => ({ ...each, greedyScore: i === 1 ? 1e39 : 0 }));
    expect(encodeRows({ ...rows, trajectories }, layout, { prompts })).toMatchObject({
      message: expect.stringContaining(`reward_baselines of rollout ${members[1]} `),
    });
  },
);
