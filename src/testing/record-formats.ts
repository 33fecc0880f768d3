import { writeFile } from 'node:fs/promises';
import { contextOf } from '../domain/dataset/turn-weights.ts';
import { pack } from '../events/packed.ts';
import type { Db } from '../postgres/database.ts';
import { encodeRows } from '../training/rows/encode-rows.ts';
import { readBatchRows } from '../training/rows/read-batch-rows.ts';
import { readPromptsOfBatch } from '../training/rows/read-prompts-of-rows.ts';
import { EventBuilder } from './event-builder.ts';
import { givenEvents } from './given-events.ts';
import { MemoryBlobs } from './memory-blobs.ts';
import { testPictures } from './painted-world.ts';
import { recordBatch } from './record-batches.ts';
import { recordPrompt, type ShownPrompt } from './record-prompt.ts';

/**
 * A run of two tasks. The first: a rollout of three steps that succeeds, one that fails, and one that goes on from a step of the
 * first. The second, of the test split: a step, and a rollout whose first step a guide took.
 */
export function recordRun(name: string, value: number, component: string): EventBuilder {
  const builder = new EventBuilder(name);
  const runId = builder.run(name);
  const tree = builder.tree(runId, 'bread');
  const one = builder.rollout(tree, 0);
  const first = builder.step(tree, one, tree.rootStepId, 1, { response: 'look', observation: 'a shelf' });
  const second = builder.step(tree, one, first, 2, { response: 'takebread', observation: 'taken' });
  const leaf = builder.step(tree, one, second, 3, { response: 'end', observation: 'done', termination: 'terminated' });
  builder.reward(tree, leaf, value, { rolloutId: one, component });
  builder.finishRollout(tree, one, leaf, { success: true, steps: 3 });
  const two = builder.rollout(tree, 1);
  const lost = builder.step(tree, two, tree.rootStepId, 1, { response: 'lose', observation: 'lost', termination: 'terminated' });
  builder.reward(tree, lost, 0, { rolloutId: two, component });
  builder.finishRollout(tree, two, lost, { success: false, steps: 1 });
  const three = builder.rollout(tree, 2, { fromStepId: first });
  const left = builder.step(tree, three, first, 2, { response: 'leave', observation: 'left', termination: 'terminated' });
  builder.reward(tree, left, 0, { rolloutId: three, component });
  builder.finishRollout(tree, three, left, { success: false, steps: 1 });
  builder.closeTree(tree, 3);
  const sha = 'b'.repeat(64);
  const task = {
    taskId: builder.id('task', 'axe'),
    environment: 'textcraft',
    serverFingerprint: 'world-1',
    observationHash: sha,
    toolsKwargs: '{"judge":{"create_kwargs":{"ground_truth":"an axe"}}}',
  };
  const other = builder.tree(runId, 'axe', { task: { ...task, alias: 'axe', goal: 'craft axe', depth: 1, split: 'test' } });
  const four = builder.rollout(other, 0);
  const stayed = builder.step(other, four, other.rootStepId, 1, {
    response: 'stay',
    observation: 'stayed',
    termination: 'terminated',
  });
  builder.reward(other, stayed, value / 2, { rolloutId: four, component });
  builder.finishRollout(other, four, stayed, { success: null, steps: 1 });
  const five = builder.rollout(other, 1);
  const policySpans = [{ from: 0, to: 0, policyId: contextOf('random'), version: 0 }];
  const guided = builder.step(other, five, other.rootStepId, 1, { response: 'guide', observation: 'guided', policySpans });
  const own = builder.step(other, five, guided, 2, { response: 'own', observation: 'owned', termination: 'terminated' });
  builder.reward(other, own, value / 4, { rolloutId: five, component });
  builder.finishRollout(other, five, own, { success: true, steps: 2 });
  builder.closeTree(other, 2);
  // the other run has none: a reader of both takes the types of columns from either
  if (name === 'two') {
    const { treeId } = tree;
    for (const [label, subject] of [
      ['kept', { kind: 'rollout', rolloutId: one }],
      ['first look', { kind: 'step', stepId: first }],
    ] as const)
      builder.record('AnnotationAdded', { annotationId: builder.id(label), treeId, subject, label, score: 0.5, note: '' }, runId);
  }
  return builder;
}

/** Returns of the four rollouts of the leased batch, each of which sampled four tokens in two steps. */
export const LEASED = [1, 0, 0.5, 0.25];

/** How many rollouts of the pictured run show no picture: more than readers look at to find the types of columns. */
export const UNPICTURED = 110;

/** A run that shows pictures late: a task of texts with many rollouts, then one that opens with a picture. */
export async function recordPicturedRun(name: string, value: number): Promise<EventBuilder> {
  const { dot, red } = await testPictures();
  const builder = new EventBuilder(name);
  const runId = builder.run(name);
  const plain = builder.tree(runId, 'a');
  for (let ordinal = 0; ordinal < UNPICTURED; ordinal++) {
    const rolloutId = builder.rollout(plain, ordinal);
    const leaf = builder.step(plain, rolloutId, plain.rootStepId, 1, { response: 'look', termination: 'terminated' });
    builder.reward(plain, leaf, value / 4, { rolloutId });
    builder.finishRollout(plain, rolloutId, leaf, { success: true, steps: 1 });
  }
  builder.closeTree(plain, UNPICTURED);
  const task = { taskId: builder.id('task', 'b'), environment: 'textcraft', serverFingerprint: 'world-1' };
  const said = { ...task, observationHash: 'b'.repeat(64), alias: 'b', goal: 'see', depth: 1, split: null };
  const seen = builder.tree(runId, 'b', { task: said, observation: 'a dot', pictures: [dot.data] });
  const one = builder.rollout(seen, 0);
  const first = builder.step(seen, one, seen.rootStepId, 1, { response: 'see', observation: '', pictures: [red.data] });
  const last = builder.step(seen, one, first, 2, { response: 'done', observation: 'over', termination: 'terminated' });
  builder.reward(seen, last, value, { rolloutId: one });
  builder.finishRollout(seen, one, last, { success: true, steps: 2 });
  const two = builder.rollout(seen, 1);
  const missed = builder.step(seen, two, seen.rootStepId, 1, { response: 'miss', termination: 'terminated' });
  builder.reward(seen, missed, 0, { rolloutId: two });
  builder.finishRollout(seen, two, missed, { success: false, steps: 1 });
  builder.closeTree(seen, 2);
  return builder;
}

/**
 * Writes the body of a batch as the server leases it: one group whose tokens and prompts are on record.
 * @param value what a unit of the returns counts.
 */
export async function leaseInto(db: Db, file: string, policyId = 'leased', value = 1): Promise<void> {
  const builder = new EventBuilder(policyId);
  const policy = { policyId, version: 0 };
  const runId = builder.run(policyId, { config: { temperature: 1, training: { policyId, channel: 'train' } }, policy });
  const tree = builder.tree(runId, policyId);
  const rolloutIds = LEASED.map((returned, ordinal) => {
    const rolloutId = builder.rollout(tree, ordinal, { policy });
    const turns = [
      { ids: [1, 2], sampled: [3 + ordinal, 4] },
      { ids: [1, 2, 3 + ordinal, 4, 20, 21], sampled: [5, 6 + ordinal] },
    ];
    let [parent, before]: [string, ShownPrompt | null] = [tree.rootStepId, null];
    for (const [k, { ids, sampled }] of turns.entries()) {
      parent = builder.step(tree, rolloutId, parent, k + 1, {
        policySpans: [{ from: 0, to: sampled.length, ...policy }],
        tokens: { ids: pack('int32', sampled), logProbs: pack('float32', [-1, -2]), mask: null },
        termination: k === 1 ? 'terminated' : 'none',
      });
      before = recordPrompt(builder, tree, { stepId: parent, text: `${ordinal} ${k}`, ids, sampled, before });
    }
    builder.reward(tree, parent, returned * value, { rolloutId });
    builder.finishRollout(tree, rolloutId, parent, { steps: turns.length });
    return rolloutId;
  });
  const batchId = recordBatch(builder, policyId, tree.treeId, rolloutIds);
  await givenEvents(db, builder.events);
  const blobs = new MemoryBlobs();
  const rows = await readBatchRows(db, blobs, batchId);
  const body = encodeRows(rows, 'verl', { prompts: await readPromptsOfBatch(db, blobs, rows) });
  if (body.kind === 'refused') throw new Error(body.message);
  await writeFile(file, Buffer.concat(body.parts));
}
