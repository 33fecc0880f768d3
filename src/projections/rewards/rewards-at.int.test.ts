import { beforeAll, expect, test } from '@jest/globals';
import type { Offsets } from '../../log/event-log.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { foldRewardsAt } from './rewards-at.ts';

const database = useTestDatabase({ emptied: 'never' });
const builder = new EventBuilder('rewards at');
const tree = builder.tree(builder.run());
const scorer = { name: 'first', revision: '1' };
const [kept, revised] = [builder.id('reward', 1), builder.id('reward', 2)];
const ofTree = { treeId: tree.treeId, stepId: tree.rootStepId, rolloutId: null };
/** The events of the tree in their order, by the place of the tree's first. */
const before = builder.events.length;

beforeAll(async () => {
  const assign = (rewardId: string, value: number) =>
    builder.record('RewardAssigned', { rewardId, ...ofTree, component: 'environment', value, scorer, raw: null }, tree.runId);
  const revise = (value: number) => {
    const { treeId } = tree;
    builder.record(
      'RewardRevised',
      { rewardId: revised, treeId, value, scorer: { name: 'second', revision: '2' }, reason: 'again' },
      tree.runId,
    );
  };
  assign(kept, 1);
  assign(revised, 0);
  revise(0.25);
  revise(-1);
  await givenEvents(database.db, builder.events);
});

/** The position behind the n-th event of the tree that followed its opening. */
async function behind(n: number): Promise<Offsets> {
  const id = builder.events[before - 1 + n]?.id ?? '';
  const { topic, partition, offset } = await database.db
    .selectFrom('events')
    .select(['topic', 'partition', 'offset'])
    .where('eventId', '=', id)
    .executeTakeFirstOrThrow();
  return new Map([[topic, new Map([[partition, Number(offset) + 1]])]]);
}

test('rewards at a position do not include later revisions', async () => {
  const at = async (n: number) =>
    (await foldRewardsAt(database.db, [tree.treeId], await behind(n))).map(({ value, revisions, scorer: by }) => [
      value,
      revisions,
      by.name,
    ]);
  expect(await at(0)).toEqual([]);
  expect(await at(1)).toEqual([[1, 0, 'first']]);
  expect(await at(2)).toEqual([
    [1, 0, 'first'],
    [0, 0, 'first'],
  ]);
  expect(await at(3)).toContainEqual([0.25, 1, 'second']);
  expect(await at(4)).toContainEqual([-1, 2, 'second']);
});

test('rewards at the end equal those of the read model', async () => {
  const now = await database.db.selectFrom('rewards').select(['rewardId', 'value', 'revisions']).orderBy('rewardId').execute();
  const end = await behind(4);
  const folded = (await foldRewardsAt(database.db, [tree.treeId], end))
    .map(({ assigned, value, revisions }) => ({ rewardId: assigned.rewardId, value, revisions }))
    .sort((a, b) => (a.rewardId < b.rewardId ? -1 : 1));
  expect(folded).toEqual(now);
});
