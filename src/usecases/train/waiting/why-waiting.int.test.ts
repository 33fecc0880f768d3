import { expect, test } from '@jest/globals';
import type { PlanRules } from '../../../domain/training/planning/plan-rules.ts';
import { derivedId } from '../../../events/derived-id.ts';
import { openBatcherWorld, type ProjectedWorld } from '../../../testing/batcher-world.ts';
import { EventBuilder } from '../../../testing/event-builder.ts';
import { recordGroup, recordLineage } from '../../../testing/record-training.ts';
import { useTestDatabase } from '../../../testing/use-test-database.ts';
import { planLineage } from '../batcher/plan-lineage.ts';
import { whyWaiting } from './why-waiting.ts';

const database = useTestDatabase({ emptied: 'before-each' });
const POLICY = 'p';
const TRAIN = { config: { training: { policyId: POLICY, channel: 'train' } } };

/** Records events, projects them, and plans what can be planned until nothing follows. */
async function given(
  record: (builder: EventBuilder) => void,
  plans: 'planned' | 'unplanned' = 'planned',
): Promise<ProjectedWorld> {
  const builder = new EventBuilder('waiting');
  record(builder);
  const world = openBatcherWorld(database.db, builder.events);
  await world.project();
  while (plans === 'planned' && (await planLineage(world, POLICY, new AbortController().signal)).kind === 'planned')
    await world.project();
  return world;
}

const why = () => whyWaiting(database.db, POLICY);
const NONE = { open: 0, closed: 0, ready: 0, rejected: {} };

/** Records a group that stays open, with so many of its members finished and, where a value is given, rewarded. */
function openGroup(builder: EventBuilder, runId: string, name: string, planned: number, finished: number): void {
  const tree = builder.tree(runId, name, { plannedRollouts: planned });
  for (let ordinal = 0; ordinal < finished; ordinal++) member(builder, tree, ordinal, ordinal);
}

function member(builder: EventBuilder, tree: ReturnType<EventBuilder['tree']>, ordinal: number, value: number | null): void {
  const policy = { policyId: POLICY, version: 0 };
  const rolloutId = builder.rollout(tree, ordinal, { policy });
  const step = builder.step(tree, rolloutId, tree.rootStepId, 1, { policySpans: [{ from: 0, to: 2, ...policy }] });
  if (value !== null) builder.reward(tree, step, value, { rolloutId });
  builder.finishRollout(tree, rolloutId, step);
}

test('open groups, and closed ones that were rejected, are counted, and the group that lacks the fewest members comes next', async () => {
  await given((builder) => {
    recordLineage(builder, POLICY, { groupsPerBatch: 1 });
    const runId = builder.run('collect', TRAIN);
    for (const name of ['all right', 'all wrong']) recordGroup(builder, runId, name, { policyId: POLICY, rewards: [1, 1] });
    openGroup(builder, runId, 'nearest', 4, 1);
    openGroup(builder, runId, 'far', 8, 1);
    openGroup(builder, runId, 'not begun', 4, 0);
  });
  expect(await why()).toEqual({
    state: 'waiting',
    waitingFor: 'members',
    groups: { open: 3, closed: 2, ready: 0, rejected: { 'zero-variance': 2 } },
    next: '1 group waits for 3 members',
  });
});

test('a batch of more groups than are open needs further ones, besides those that are ready', async () => {
  await given((builder) => {
    recordLineage(builder, POLICY, { groupsPerBatch: 4 });
    const runId = builder.run('collect', TRAIN);
    recordGroup(builder, runId, 'fit', { policyId: POLICY, rewards: [0, 1] });
    openGroup(builder, runId, 'open', 3, 1);
  });
  expect(await why()).toMatchObject({
    groups: { open: 1, closed: 1, ready: 1, rejected: {} },
    next: '1 group waits for 2 members; 1 of 4 groups of the next batch are ready, and 2 more groups are wanted',
  });
});

test.each<[string, Partial<PlanRules>, 'collecting' | 'over', object]>([
  ['groups', {}, 'collecting', { next: '1 of 2 groups of the next batch are ready; 1 run can open more, and none is open' }],
  [
    'tasks',
    {},
    'over',
    { next: expect.stringMatching(/^1 of 2 groups .* every run that feeds it is over: record more groups$/) },
  ],
])('a trainer whose runs have no open group waits for %s', async (waitingFor, rules, run, said) => {
  await given((builder) => {
    recordLineage(builder, POLICY, rules);
    const runId = builder.run('collect', TRAIN);
    recordGroup(builder, runId, 'fit', { policyId: POLICY, rewards: [0, 1] });
    if (run === 'over') builder.finishRun(runId);
  });
  expect(await why()).toMatchObject({ waitingFor, groups: { ...NONE, closed: 1, ready: 1 }, ...said });
});

test('a closed group whose members have no reward yet waits for their scores', async () => {
  await given((builder) => {
    recordLineage(builder, POLICY, { groupsPerBatch: 1, unscored: 'wait' });
    const tree = builder.tree(builder.run('collect', TRAIN), 'unscored', { plannedRollouts: 3 });
    for (const [ordinal, value] of [1, null, null].entries()) member(builder, tree, ordinal, value);
    builder.closeTree(tree, 3);
  });
  expect(await why()).toMatchObject({
    waitingFor: 'scores',
    groups: { ...NONE, closed: 1 },
    next: expect.stringMatching(/^1 group waits for the reward environment of 2 members; /),
  });
});

test('a component that a program gives to some rollouts only is named with what to do about it', async () => {
  await given((builder) => {
    recordLineage(builder, POLICY, { groupsPerBatch: 1, unscored: 'wait', rewards: { environment: 1, 'answer-f1': 0.1 } });
    const tree = builder.tree(builder.run('collect', TRAIN), 'unscored', { plannedRollouts: 2 });
    for (const ordinal of [0, 1]) member(builder, tree, ordinal, ordinal);
    builder.closeTree(tree, 2);
  });
  const next = (await why())?.next;
  expect(next).toMatch(/^1 group waits for the reward answer-f1 of 2 members; `espalier score` gives/);
  expect(next).toMatch(/a component itself gives it to every rollout, 0 where it is not earned, or .* `rules.unscored: reject`$/);
});

test('a closed group waits for a greedy rollout of its task where the estimator compares with one', async () => {
  await given((builder) => {
    const lineageId = recordLineage(builder, POLICY, { groupsPerBatch: 1 });
    const declared = builder.events.find(({ type }) => type === 'TrainingDeclared');
    Object.assign(declared?.data ?? {}, { lineageId, estimator: { name: 'remax', revision: '1', mode: {} } });
    recordGroup(builder, builder.run('collect', TRAIN), 'alone', { policyId: POLICY, rewards: [1, 0] });
  });
  expect(await why()).toMatchObject({
    waitingFor: 'greedy-sibling',
    groups: { ...NONE, closed: 1 },
    next: '1 group waits for a greedy rollout of the task by the same version',
  });
});

test('a batch that could be planned waits for a planner, and once it is planned nothing is waited for', async () => {
  const record = (builder: EventBuilder) => {
    recordLineage(builder, POLICY, { groupsPerBatch: 1 });
    recordGroup(builder, builder.run('collect', TRAIN), 'fit', { policyId: POLICY, rewards: [0, 1] });
  };
  const world = await given(record, 'unplanned');
  expect(await why()).toMatchObject({
    waitingFor: 'planner',
    groups: { ...NONE, closed: 1 },
    next: '1 batch can be planned, and no planner did yet: `espalier up` runs one, or `espalier serve batch`',
  });
  await planLineage(world, POLICY, new AbortController().signal);
  await world.project();
  expect(await why()).toBeNull();
});

test('the batch that another consumer leased is named with the end of the lease', async () => {
  const world = await given((builder) => {
    recordLineage(builder, POLICY, { groupsPerBatch: 1 });
    recordGroup(builder, builder.run('collect', TRAIN), 'fit', { policyId: POLICY, rewards: [0, 1] });
  });
  const later = new EventBuilder('leased');
  const lineageId = derivedId('lineage', POLICY);
  const lease = { lineageId, policyId: POLICY, batchId: derivedId('batch', lineageId, 0), leaseId: later.id('lease'), fence: 1 };
  later.record('BatchLeased', { ...lease, consumer: 'gpu-1', deadline: '2026-06-01T00:01:00.000Z' }, lineageId);
  world.record(later.events);
  await world.project();
  expect(await why()).toMatchObject({ waitingFor: 'lease', next: 'batch 0 is leased by gpu-1 until 2026-06-01T00:01:00.000Z' });
});

test('a policy that nobody declared, or that no run feeds, says so first', async () => {
  expect(await why()).toMatchObject({ waitingFor: 'declaration', groups: NONE, next: expect.stringMatching(/PUT/) });
  await given((builder) => void recordLineage(builder, POLICY));
  expect(await why()).toMatchObject({
    waitingFor: 'runs',
    groups: NONE,
    next: expect.stringMatching(/^no run feeds it: .*\{"policyId": "p", "channel": "train"\}$/),
  });
});

test('a lineage of another revision of its estimator says that no planner here can plan it', async () => {
  await given((builder) => {
    recordLineage(builder, POLICY);
    const declared = builder.events.find(({ type }) => type === 'TrainingDeclared');
    Object.assign(declared?.data ?? {}, { estimator: { name: 'grpo', revision: '0', mode: {} } });
    recordGroup(builder, builder.run('collect', TRAIN), 'fit', { policyId: POLICY, rewards: [0, 1] });
  }, 'unplanned');
  expect(await why()).toMatchObject({ waitingFor: 'planner', next: expect.stringMatching(/grpo@0, this version has 1/) });
});
