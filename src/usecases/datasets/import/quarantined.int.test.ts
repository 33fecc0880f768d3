import { readFile } from 'node:fs/promises';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Envelope } from '../../../events/envelope.ts';
import { arbitraryRecord } from '../../../testing/arbitrary-record.ts';
import { datasetWorkshop } from '../../../testing/dataset-workshop.ts';
import { EventBuilder } from '../../../testing/event-builder.ts';
import { givenEvents, requeueWaiting } from '../../../testing/given-events.ts';
import { givenPrepared } from '../../../testing/projecting-log.ts';
import { readModels } from '../../../testing/read-models.ts';
import type { ExportFormat } from '../export/formats.ts';
import { manifestPath } from '../export/manifest.ts';

const shop = datasetWorkshop();
const jsonl: ExportFormat = { kind: 'jsonl', scope: 'trees' };

/** A reward that is revised before it is assigned, and once more after it; and what lies behind the first revision. */
function revisedEarly() {
  const builder = new EventBuilder('revised');
  const tree = builder.tree(builder.run(), 'a');
  const rollout = builder.rollout(tree);
  const step = builder.step(tree, rollout, tree.rootStepId, 1);
  const rewardId = builder.id('the reward');
  const revise = (value: number) =>
    builder.record(
      'RewardRevised',
      { rewardId, treeId: tree.treeId, value, scorer: { name: 's', revision: String(value) }, reason: `to ${value}` },
      tree.runId,
    );
  revise(0.25);
  builder.reward(tree, step, 1, { rewardId });
  builder.finishRollout(tree, rollout, step, { steps: 1 });
  revise(0.75);
  return { builder, tree, step };
}

const returns = async () => (await shop.db.selectFrom('returns').select('value').execute()).map(({ value }) => value);
const waiting = () => shop.db.selectFrom('quarantine').select(['projection', 'type']).where('requeuedAt', 'is', null).execute();
const countsOf = async (name: string) => JSON.parse(await readFile(manifestPath(shop.path(name)), 'utf8')).counts;

/** Exports, imports into an empty record and exports that; returns the two files. */
async function thereAndBack(format = jsonl): Promise<readonly [Buffer, Buffer]> {
  const first = await readFile(await shop.exportTo('first', format));
  await shop.startAgain();
  await shop.importing({ source: shop.path('first') });
  return [first, await readFile(await shop.exportTo('second', format))];
}

describe('exports of a record with a revision that came before its reward', () => {
  test.each(['trees', 'trajectories'] as const)('the export omits a waiting revision and reports it (%s)', async (scope) => {
    await givenEvents(shop.db, revisedEarly().builder.events);
    expect(await returns()).toEqual([0.75]);
    const [first, second] = await thereAndBack({ kind: 'jsonl', scope });
    expect(await countsOf('first')).toMatchObject({ trajectories: 1, leftOut: 1 });
    expect(await countsOf('second')).not.toHaveProperty('leftOut');
    expect(await returns()).toEqual([0.75]);
    expect(await waiting()).toEqual([]);
    expect(second.equals(first)).toBe(true);
  });

  test('the export contains the revision where it was requeued, so that the import has the rewards of the record', async () => {
    await givenEvents(shop.db, revisedEarly().builder.events);
    await requeueWaiting(shop.db);
    expect(await returns()).toEqual([0.25]);
    const [first, second] = await thereAndBack();
    expect(await countsOf('first')).not.toHaveProperty('leftOut');
    expect(await returns()).toEqual([0.25]);
    expect(second.equals(first)).toBe(true);
  });

  test('the export keeps events after the requeue behind it', async () => {
    const { builder, tree, step } = revisedEarly();
    await givenEvents(shop.db, builder.events);
    await requeueWaiting(shop.db);
    const rewardId = builder.id('the reward');
    const scorer = { name: 's', revision: 'last' };
    const recorded = builder.events.length;
    builder.record('RewardRevised', { rewardId, treeId: tree.treeId, value: 0.5, scorer, reason: 'last' }, tree.runId);
    builder.reward(tree, step, 4);
    await givenEvents(shop.db, builder.events.slice(recorded));
    expect(await returns()).toEqual([4.5]);
    await thereAndBack();
    expect(await returns()).toEqual([4.5]);
  });
});

test('a step without its parent is omitted with all its descendants, and the rest of the tree is restored', async () => {
  const builder = new EventBuilder('orphans');
  const tree = builder.tree(builder.run(), 'a');
  builder.walk(tree, 0, 2, 1);
  const rollout = builder.rollout(tree, 1);
  const orphan = builder.step(tree, rollout, builder.id('nowhere'), 1);
  builder.reward(tree, orphan, 3);
  const { treeId, rootStepId } = tree;
  builder.record(
    'ValueBackedUp',
    { treeId, simulation: 0, leafStepId: orphan, value: 1, path: [rootStepId, orphan] },
    tree.runId,
  );
  await givenEvents(shop.db, builder.events);
  await thereAndBack();
  expect(await countsOf('first')).toMatchObject({ trajectories: 1, steps: 2, leftOut: 3 });
  expect(await returns()).toEqual([1]);
  expect(await waiting()).toEqual([]);
});

test('a reward that comes before its step is omitted and counted', async () => {
  const builder = new EventBuilder('early reward');
  const tree = builder.tree(builder.run(), 'a');
  const rollout = builder.rollout(tree);
  const step = builder.id('the step');
  builder.reward(tree, step, 2);
  builder.step(tree, rollout, tree.rootStepId, 1, { stepId: step });
  builder.finishRollout(tree, rollout, step, { steps: 1 });
  await givenEvents(shop.db, builder.events);
  const [first, second] = await thereAndBack();
  expect(await returns()).toEqual([null]);
  expect(await countsOf('first')).toMatchObject({ leftOut: 1 });
  expect(second.equals(first)).toBe(true);
});

test('a journalled record that its present schema refuses is omitted and counted', async () => {
  const builder = new EventBuilder('beyond');
  const tree = builder.tree(builder.run(), 'a');
  const { steps } = builder.walk(tree, 0, 1, 1);
  builder.reward(tree, steps[0] ?? '', 0.5, { rewardId: builder.id('large') });
  await givenEvents(shop.db, builder.events);
  const { body } = await shop.db
    .selectFrom('events')
    .select('body')
    .where('eventId', '=', builder.events.at(-1)?.id ?? '')
    .executeTakeFirstOrThrow();
  await shop.db
    .withSchema('journal_v1')
    .updateTable('events')
    .set({ body: body.replace('"value":0.5', '"value":1e300') })
    .where('eventId', '=', builder.events.at(-1)?.id ?? '')
    .execute();
  await shop.exportTo('first', jsonl);
  expect(await countsOf('first')).toMatchObject({ trajectories: 1, leftOut: 1 });
});

test('any order of events and requeues restores a record with its trees, rewards and returns', async () => {
  const shuffled = arbitraryRecord.chain((events) => {
    const isRun = (event: Envelope) => event.type === 'RunStarted' || event.type === 'RunFinished';
    const rest = events.filter((event) => !isRun(event));
    const order = fc.oneof(
      fc.shuffledSubarray(rest, { minLength: rest.length }),
      fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 6 }).map((swaps) => swapped(rest, swaps)),
    );
    return fc.tuple(
      fc.constant(events.filter((event) => event.type === 'RunStarted')),
      order,
      fc.array(fc.record({ at: fc.nat(), requeue: fc.boolean() }), { maxLength: 4 }),
    );
  });
  await fc.assert(
    fc.asyncProperty(shuffled, async ([runs, events, cuts]) => {
      await shop.startAgain();
      await givenPrepared(shop.db, runs, shop.blobs);
      let from = 0;
      for (const { at, requeue } of [...cuts].sort((a, b) => (a.at % (events.length + 1)) - (b.at % (events.length + 1)))) {
        const to = at % (events.length + 1);
        await givenPrepared(shop.db, events.slice(from, to), shop.blobs);
        from = Math.max(from, to);
        if (requeue) await requeueWaiting(shop.db);
      }
      await givenPrepared(shop.db, events.slice(from), shop.blobs);
      await shop.exportTo('first', jsonl);
      const before = await rowsOfTrajectories();
      await shop.startAgain();
      await shop.importing({ source: shop.path('first') });
      expect(await waiting()).toEqual([]);
      expect(await rowsOfTrajectories()).toEqual(before);
    }),
    { numRuns: 2, endOnFailure: true },
  );
});

function swapped(events: readonly Envelope[], swaps: readonly (readonly [number, number])[]): Envelope[] {
  const order = [...events];
  for (const [a, b] of swaps) {
    const [i, j] = [a % Math.max(1, order.length), b % Math.max(1, order.length)];
    const [x, y] = [order[i], order[j]];
    if (x && y) [order[i], order[j]] = [y, x];
  }
  return order;
}

/** The rows of trees with a trajectory, which both read models have the end of; rewards of steps and rollouts that there are. */
async function rowsOfTrajectories(): Promise<Record<string, readonly unknown[]>> {
  const models = await readModels(shop.db, ['log_offset', 'offset', 'position', 'sequence', 'producer', 'body']);
  const rows = (table: string) => (models[table] ?? []).map((row): Record<string, unknown> => JSON.parse(row));
  const ended = new Set(rows('rollouts').flatMap(({ rollout_id, finished_at }) => (finished_at === null ? [] : [rollout_id])));
  const trajectories = rows('returns').filter(({ rollout_id }) => ended.has(rollout_id));
  const finished = new Set(trajectories.map(({ tree_id }) => tree_id));
  const of = (table: string) => rows(table).filter(({ tree_id }) => finished.has(tree_id));
  const steps = new Set(of('steps').map(({ step_id }) => step_id));
  const rollouts = new Set(of('rollouts').map(({ rollout_id }) => rollout_id));
  const rewards = of('rewards').filter(
    ({ step_id, rollout_id }) => (step_id === null || steps.has(step_id)) && (rollout_id === null || rollouts.has(rollout_id)),
  );
  const known = new Set(rewards.map(({ reward_id }) => reward_id));
  return {
    ...Object.fromEntries(['trees', 'steps', 'rollouts'].map((table) => [table, of(table)])),
    returns: trajectories,
    rewards,
    revisions: of('reward_revisions').filter(({ reward_id }) => known.has(reward_id)),
  };
}
