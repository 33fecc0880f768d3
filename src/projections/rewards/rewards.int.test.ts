import { describe, expect, test } from '@jest/globals';
import { sumAmounts } from '../../domain/reward/amount.ts';
import type { Envelope } from '../../events/envelope.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { appendTo, givenEvents, projectSlice, requeueWaiting, testLog } from '../../testing/given-events.ts';
import { emptyReadModels } from '../../testing/read-models.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { foldRewardsAt } from './rewards-at.ts';

const database = useTestDatabase({ emptied: 'before-each' });

/** A walk of two steps with a reward on its leaf that was revised, and one on the root. */
function record() {
  const builder = new EventBuilder('late');
  const tree = builder.tree(builder.run());
  const rolloutId = builder.rollout(tree);
  builder.reward(tree, tree.rootStepId, 3);
  const first = builder.step(tree, rolloutId, tree.rootStepId, 1);
  const leaf = builder.step(tree, rolloutId, first, 2);
  const rewardId = builder.reward(tree, leaf, 1, { rolloutId });
  const scorer = { name: 'judge', revision: '2' };
  builder.record('RewardRevised', { rewardId, treeId: tree.treeId, value: 0.25, scorer, reason: 'again' }, tree.runId);
  builder.finishRollout(tree, rolloutId, leaf, { steps: 2 });
  return { events: builder.events, tree, first, leaf, rewardId };
}

/** Records one event after all others. */
function last(events: readonly Envelope[], late: (event: Envelope) => boolean): readonly Envelope[] {
  return [...events.filter((event) => !late(event)), ...events.filter(late)];
}

async function folded() {
  const { db } = database;
  return {
    rewards: await db.selectFrom('rewards').select(['rewardId', 'value', 'revisions']).orderBy('rewardId').execute(),
    returns: await db.selectFrom('returns').select('value').execute(),
    waiting: await db
      .selectFrom('quarantine')
      .select(['type', 'code', 'field'])
      .where('projection', '=', 'rewards')
      .where('requeuedAt', 'is', null)
      .orderBy('offset')
      .execute(),
  };
}

/** Folds events in one batch and one at a time, sees that it makes no difference, and returns the result. */
async function foldedEitherWay(events: readonly Envelope[]) {
  const log = testLog();
  appendTo(log, events);
  for (const [topic, records] of log.topics)
    for (let from = 0; from < records.length; from++) await projectSlice(database.db, log, topic, from, from + 1);
  const oneByOne = await folded();
  await emptyReadModels(database.db);
  await givenEvents(database.db, events);
  const atOnce = await folded();
  expect(atOnce).toEqual(oneByOne);
  return atOnce;
}

describe('events recorded before those they depend on', () => {
  /** The reward of the leaf and its revision. */
  const WITHOUT_STEP = [
    { type: 'RewardAssigned', code: 'missing-parent', field: 'data.stepId' },
    { type: 'RewardRevised', code: 'missing-reward', field: 'data.rewardId' },
  ];

  test('a revision before its reward waits; the reward keeps its assigned value, here and in the fold of the journal', async () => {
    const { events, tree, rewardId } = record();
    const {
      rewards: rows,
      returns,
      waiting,
    } = await foldedEitherWay(
      last(events, ({ data }) => 'rewardId' in data && data.rewardId === rewardId && 'component' in data),
    );
    expect(rows).toContainEqual({ rewardId, value: 1, revisions: 0 });
    expect(returns).toEqual([{ value: 4 }]);
    expect(waiting).toEqual([{ type: 'RewardRevised', code: 'missing-reward', field: 'data.rewardId' }]);
    const end = new Map([['trees', new Map([[0, events.length]])]]);
    const rewardsAt = await foldRewardsAt(database.db, [tree.treeId], end);
    expect(rewardsAt.map(({ assigned, value, revisions }) => [assigned.rewardId, value, revisions]).sort()).toEqual(
      rows.map((row) => [row.rewardId, row.value, row.revisions]),
    );

    await requeueWaiting(database.db);
    expect(await folded()).toMatchObject({ returns: [{ value: 3.25 }], waiting: [] });
    const valuesAt = async (next: number) =>
      (await foldRewardsAt(database.db, [tree.treeId], new Map([['trees', new Map([[0, next]])]]))).map(({ value }) => value);
    // the requeue is the record behind the last event of the tree
    expect((await valuesAt(events.length)).sort()).toEqual([0.25, 3]);
    expect((await valuesAt(events.length - 1)).sort()).toEqual([1, 3]);
  });

  test('the end of a rollout before its leaf waits, and is summed when it is requeued', async () => {
    const { events, leaf } = record();
    const { returns, waiting } = await foldedEitherWay(
      last(events, ({ type, data }) => type === 'StepTaken' && 'stepId' in data && data.stepId === leaf),
    );
    expect(returns).toEqual([]);
    expect(waiting).toEqual([...WITHOUT_STEP, { type: 'RolloutFinished', code: 'missing-parent', field: 'data.leafStepId' }]);

    await requeueWaiting(database.db);
    expect(await folded()).toMatchObject({ returns: [{ value: 3.25 }], waiting: [] });
  });

  test('a step before its parent waits, with the end of the rollout that it leads to the root', async () => {
    const { events, first } = record();
    const { returns, waiting } = await foldedEitherWay(
      last(events, ({ type, data }) => type === 'StepTaken' && 'stepId' in data && data.stepId === first),
    );
    expect(returns).toEqual([]);
    expect(waiting).toEqual([
      { type: 'StepTaken', code: 'missing-parent', field: 'data.parentStepId' },
      ...WITHOUT_STEP,
      { type: 'RolloutFinished', code: 'missing-parent', field: 'data.leafStepId' },
    ]);

    await requeueWaiting(database.db);
    expect(await folded()).toMatchObject({ returns: [{ value: 3.25 }], waiting: [] });
  });
});

test('a rollout that ends at the root is finished, and the end of one without a start waits', async () => {
  const builder = new EventBuilder('short');
  const tree = builder.tree(builder.run());
  builder.reward(tree, tree.rootStepId, 2);
  builder.finishRollout(tree, builder.rollout(tree), tree.rootStepId, { steps: 0 });
  builder.finishRollout(tree, builder.id('never started'), builder.step(tree, null, tree.rootStepId, 1));
  const { returns, waiting } = await foldedEitherWay(builder.events);
  expect(returns).toEqual([{ value: 2 }]);
  expect(waiting).toEqual([{ type: 'RolloutFinished', code: 'missing-rollout', field: 'data.rolloutId' }]);
});

test('a tree opened in two runs stays in the first', async () => {
  const builder = new EventBuilder('twice');
  const tree = builder.tree(builder.run('first'));
  const [opened] = builder.events.slice(-1);
  if (opened?.type !== 'TreeOpened') throw new Error('a tree was opened last');
  builder.record('TreeOpened', { ...(opened as Envelope<'TreeOpened'>).data, runId: builder.id('second') }, tree.runId);
  builder.walk(tree, 0, 1, 1);
  await foldedEitherWay(builder.events);
  const runs = await database.db.selectFrom('returns').select('runId').execute();
  expect(runs).toEqual([{ runId: tree.runId }]);
});

test('siblings with equal rewards have equal returns, whatever the ids of the rewards are', async () => {
  const values = [0.1, 0.2, 0.3, 0.7, -0.6, 1e3, -1e3, 0.05];
  const builder = new EventBuilder('equal');
  const tree = builder.tree(builder.run());
  for (let sibling = 0; sibling < 16; sibling++) {
    const rolloutId = builder.rollout(tree, sibling);
    const leaf = values.reduce((parent, value, i) => {
      const step = builder.step(tree, rolloutId, parent, i + 1);
      builder.reward(tree, step, value, { rolloutId });
      return step;
    }, tree.rootStepId);
    builder.finishRollout(tree, rolloutId, leaf, { steps: values.length });
  }
  await givenEvents(database.db, builder.events);
  const { returns } = await folded();
  expect(returns).toEqual(Array.from({ length: 16 }, () => ({ value: 0.75 })));
  expect(sumAmounts(values)).toBe(0.75);
});

test('a reward of a step for a rollout that did not take it, and one of a rollout that did not start, wait and count for nobody', async () => {
  const builder = new EventBuilder('crossed');
  const tree = builder.tree(builder.run());
  const late = builder.id('late');
  const [one, other] = [builder.rollout(tree, 0), builder.rollout(tree, 1)];
  const shared = builder.step(tree, one, tree.rootStepId, 1);
  const leaf = builder.step(tree, other, shared, 2);
  builder.reward(tree, shared, 1, { rolloutId: one });
  const crossed = [
    builder.reward(tree, shared, 8, { rolloutId: other }),
    builder.reward(tree, tree.rootStepId, 16, { rolloutId: one }),
  ];
  const lateReward = builder.reward(tree, null, 32, { rolloutId: late });
  builder.finishRollout(tree, one, shared);
  builder.finishRollout(tree, other, leaf);
  builder.record('RolloutStarted', { ...startOf(builder, one), rolloutId: late, ordinal: 2 }, tree.runId);

  const { rewards, returns, waiting } = await foldedEitherWay(builder.events);
  expect(returns).toEqual([{ value: 1 }, { value: 1 }]);
  expect(rewards).toHaveLength(1);
  const of = { type: 'RewardAssigned', field: 'data.rolloutId' };
  expect(waiting).toEqual([
    { ...of, code: 'not-taken' },
    { ...of, code: 'not-taken' },
    { ...of, code: 'missing-rollout' },
  ]);
  const end = new Map([['trees', new Map([[0, builder.events.length]])]]);
  expect(await foldRewardsAt(database.db, [tree.treeId], end)).toHaveLength(1);

  await requeueWaiting(database.db);
  const after = (await folded()).rewards.map(({ rewardId }) => rewardId);
  expect(after).toContain(lateReward);
  for (const refused of crossed) expect(after).not.toContain(refused);
});

function startOf({ events }: EventBuilder, rolloutId: string) {
  const start = events.find((event) => event.type === 'RolloutStarted' && event.data.rolloutId === rolloutId);
  if (start?.type !== 'RolloutStarted') throw new Error('the rollout was started');
  return start.data;
}
