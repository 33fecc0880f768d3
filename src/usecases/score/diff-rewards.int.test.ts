import { beforeEach, describe, expect, test } from '@jest/globals';
import { catalogue } from '../../events/catalogue.ts';
import type { Envelope } from '../../events/envelope.ts';
import { parsePosition } from '../../log/position.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { emptyReadModels } from '../../testing/read-models.ts';
import { recordWeb } from '../../testing/record-web.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { type DiffOptions, diffRewards } from './diff-rewards.ts';

const { signal } = new AbortController();
const database = useTestDatabase({ emptied: 'before-each' });

/** The returns that the read model has after some events, rollout by rollout. */
async function returnsAfter(events: readonly Envelope[]): Promise<ReadonlyMap<string, number | null>> {
  await emptyReadModels(database.db);
  await givenEvents(database.db, events);
  const rows = await database.db.selectFrom('returns').select(['rolloutId', 'value']).execute();
  return new Map(rows.map(({ rolloutId, value }) => [rolloutId, value]));
}

/** The rollouts of a run that have another return in two read models; those that are only in one are left out. */
function changed(
  before: ReadonlyMap<string, number | null>,
  after: ReadonlyMap<string, number | null>,
  rollouts: ReadonlySet<string>,
) {
  return [...before]
    .filter(([rolloutId, value]) => rollouts.has(rolloutId) && after.has(rolloutId) && after.get(rolloutId) !== value)
    .map(([rolloutId, value]) => ({ rolloutId, returns: { before: value, after: after.get(rolloutId) } }))
    .sort((a, b) => (a.rolloutId < b.rolloutId ? -1 : 1));
}

async function diff(runId: string, asked: DiffOptions) {
  const found = await diffRewards(database.db, { runId, asked, signal });
  const members = found.members
    .filter(({ returns }) => returns.before !== returns.after)
    .map(({ rolloutId, returns }) => ({ rolloutId, returns }))
    .sort((a, b) => (a.rolloutId < b.rolloutId ? -1 : 1));
  return { ...found, changedReturns: members };
}

describe.each([11, 12])('differences of random record %j', (seed) => {
  let builder: EventBuilder;
  let run: string;
  let rollouts: ReadonlySet<string>;
  beforeEach(() => {
    builder = new EventBuilder(`diff ${seed}`);
    const { runs, trees } = recordWeb(builder, seed);
    run = runs[seed % 3] ?? '';
    rollouts = new Set(trees.filter(({ runId }) => runId === run).flatMap(({ rolloutIds }) => rolloutIds));
  });

  test('the first state has the returns of a log without revisions, and the last one those in force', async () => {
    const first = await returnsAfter(builder.events.filter(({ type }) => type !== 'RewardRevised'));
    const last = await returnsAfter(builder.events);
    const found = await diff(run, { kind: 'first-and-last' });
    expect(found.changedReturns).toEqual(changed(first, last, rollouts));
    expect(found.otherReturns).toBe(found.changedReturns.length);
    expect(found.rollouts).toBe(rollouts.size);
    expect(found.changedReturns).not.toEqual([]); // the seeds are of webs where revisions matter
    const touching = new Set(found.members.map(({ rolloutId }) => rolloutId));
    const batches = builder.events.flatMap(({ type, data }) =>
      type === 'BatchPlanned' ? [data as Envelope<'BatchPlanned'>['data']] : [],
    );
    const hit = batches.filter(({ groups }) => groups.some(({ rolloutIds }) => rolloutIds.some((id) => touching.has(id))));
    expect(found.touched.batches.map(({ batchId }) => batchId).sort()).toEqual(hit.map(({ batchId }) => batchId).sort());
  });

  test('two positions have the returns of the log as far as each', async () => {
    const recorded = builder.events.filter(({ type }) => catalogue[type].topic === 'trees').length;
    const positions = [Math.floor(recorded * 0.6), recorded] as const;
    const upTo = (limit: number) => {
      let trees = 0;
      return builder.events.filter(({ type }) => catalogue[type].topic !== 'trees' || trees++ < limit);
    };
    const before = await returnsAfter(upTo(positions[0]));
    const after = await returnsAfter(builder.events);
    const [from, to] = [parsePosition(`trees.0:${positions[0]}`), parsePosition(`trees.0:${positions[1]}`)];
    const found = await diff(run, { kind: 'positions', before: from, after: to });
    expect(found.changedReturns).toEqual(changed(before, after, rollouts));
    expect(found.rollouts).toBe([...before.keys()].filter((rolloutId) => rollouts.has(rolloutId)).length);
  });
});

describe('two scorers of one reward', () => {
  test('two scorers are compared by the last judgement of each, with components, groups and advantages', async () => {
    const builder = new EventBuilder('scorers');
    const runId = builder.run();
    const tree = builder.tree(runId);
    const [one, two] = [builder.walk(tree, 0, 2, 1), builder.walk(tree, 1, 1, 0)];
    const judge = (revision: string) => ({ name: 'judge', revision });
    const style = { component: 'style', scorer: judge('1'), raw: null };
    const rewardId = builder.reward(tree, null, 0.25, { ...style, rolloutId: one.rolloutId });
    builder.reward(tree, null, 0.5, { ...style, rolloutId: two.rolloutId });
    const revise = (value: number, revision: string) =>
      builder.record('RewardRevised', { rewardId, treeId: tree.treeId, value, scorer: judge(revision), reason: 'again' }, runId);
    revise(-2, '2');
    revise(9, '3');
    await givenEvents(database.db, builder.events);

    const found = await diff(runId, { kind: 'scorers', before: 'judge@1', after: 'judge@2' });
    expect(found.components).toEqual([
      { component: 'environment', rewards: 2, changed: 0, before: 1, after: 1 },
      { component: 'style', rewards: 2, changed: 1, before: 0.75, after: -1.5 },
    ]);
    expect(found.changedReturns).toEqual([{ rolloutId: one.rolloutId, returns: { before: 1.25, after: -1 } }]);
    expect(found.changes).toMatchObject([{ members: 2, otherReturns: 1, otherAdvantages: 2, turned: 2 }]);
    await expect(diff(runId, { kind: 'scorers', before: 'judge@1', after: 'judge@4' })).rejects.toThrow(
      'no reward of the run was given by judge@4; those on record are by environment@1, judge@1, judge@2, judge@3',
    );
  });
});
