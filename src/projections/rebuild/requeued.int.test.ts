import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import { encode } from '../../events/codec.ts';
import type { Envelope } from '../../events/envelope.ts';
import type { Offsets } from '../../log/event-log.ts';
import { arbitraryRecord } from '../../testing/arbitrary-record.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { appendRequeue, appendTo, projectSlice, requeueWaiting, type TestLog, testLog } from '../../testing/given-events.ts';
import { emptyReadModels } from '../../testing/read-models.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { applySlice } from '../apply-slices.ts';
import { decodeRecords } from '../decode-records.ts';
import type { Projection } from '../projection.ts';
import { withRecordedRefusals } from '../quarantine.ts';
import { countQuarantine, QUARANTINE_ORDERING, readQuarantine } from '../read-quarantine.ts';
import { rewards } from '../rewards/rewards.ts';
import { stepTree } from '../step-tree/step-tree.ts';
import type { Build } from './build.ts';
import { compareBuild } from './compare-build.ts';
import { dropBuild, openBuild, reopenKeptVersion } from './open-build.ts';
import { swapVersions } from './swap-versions.ts';

const waiting = { limitMs: 5_000, signal: new AbortController().signal };

const database = useTestDatabase({ emptied: 'before-each' });

/** Appends records and folds them live. */
async function given(log: TestLog, records: Parameters<typeof appendTo>[1], projections = [stepTree]): Promise<void> {
  const from = log.topics.get('trees')?.length ?? 0;
  appendTo(log, records);
  await projectSlice(database.db, log, 'trees', from, log.topics.get('trees')?.length ?? 0, projections);
}

/** What is set aside under a name, in log order. */
async function quarantinedIn(projection: string) {
  const rows = await database.db
    .selectFrom('quarantine')
    .select(['topic', 'partition', 'offset', 'code', 'field', 'reason', 'requeuedAt', 'requeuedOffset'])
    .where('projection', '=', projection)
    .orderBy('offset')
    .execute();
  return rows;
}

function endsOf(log: TestLog): Offsets {
  return new Map([['trees', new Map([[0, log.topics.get('trees')?.length ?? 0]])]]);
}

/** Folds the log again next to the live version, in one slice. */
async function foldShadow(log: TestLog, projection: Projection = stepTree): Promise<Build> {
  const records = log.topics.get('trees') ?? [];
  const build = await openBuild(database, { ends: async () => endsOf(log) }, projection);
  const slice = { topic: 'trees', partition: 0, from: 0, next: records.length };
  const items = await withRecordedRefusals(
    database.db,
    projection.name,
    slice,
    await decodeRecords(database.db, { ...slice, records }),
  );
  await applySlice(database.db, build.shadow, { ...slice, items });
  return build;
}

const sums = (comparison: Awaited<ReturnType<typeof compareBuild>>) => ({
  live: comparison.tables.map(({ live }) => live),
  anew: comparison.tables.map(({ anew }) => anew),
});

/** A reward that is revised before it is assigned, and again after the first revision was requeued. */
function revisedEarly() {
  const builder = new EventBuilder('revised');
  const tree = builder.tree(builder.run(), 'a');
  const rollout = builder.rollout(tree);
  const step = builder.step(tree, rollout, tree.rootStepId, 1);
  const rewardId = builder.id('the reward');
  const revise = (value: number) => {
    const scorer = { name: 'judge', revision: String(value) };
    return builder.record('RewardRevised', { rewardId, treeId: tree.treeId, value, scorer, reason: `to ${value}` }, tree.runId);
  };
  const early = revise(0.25);
  builder.reward(tree, step, 1, { rewardId });
  builder.finishRollout(tree, rollout, step, { steps: 1 });
  const late = revise(0.75);
  const before = builder.events.filter((event) => event.type !== 'RunStarted' && event !== late);
  return { before, early: before.indexOf(early), late };
}

test('an event folded live on top of a requeue is folded on top of it by a rebuild, and waits in no quarantine', async () => {
  const builder = new EventBuilder('requeued');
  const tree = builder.tree(builder.run(), 'a');
  const rollout = builder.rollout(tree);
  const first = builder.step(tree, rollout, tree.rootStepId, 1);
  const second = builder.step(tree, rollout, first, 2);
  const third = builder.step(tree, rollout, second, 3);
  builder.finishRollout(tree, rollout, third, { steps: 3 });
  const [, opened, started, parent, early, ...later] = builder.events as [Envelope, Envelope, Envelope, Envelope, Envelope];
  const log = testLog();
  await given(log, [opened, started, early, parent]);
  await requeueWaiting(database.db, { log, projections: [stepTree] });
  await given(log, later);
  expect(await quarantinedIn('step-tree')).toEqual([
    expect.objectContaining({ offset: 2, code: 'missing-parent', requeuedOffset: 4, requeuedAt: expect.any(Date) }),
  ]);

  const build = await foldShadow(log);
  const comparison = await compareBuild(database, build, waiting);
  expect(comparison.differences).toEqual([]);
  expect(sums(comparison).anew).toEqual(sums(comparison).live);
  expect(comparison.tables.find(({ table }) => table === 'steps')?.anew.rows).toBe(4);
  expect(await quarantinedIn(build.shadow.name)).toEqual(await quarantinedIn('step-tree'));
  await dropBuild(database.db, stepTree, build.version);
});

test('a reward has the value of its last revision, before and after a rebuild takes over', async () => {
  const { before, early, late } = revisedEarly();
  const log = testLog();
  await given(log, before, [rewards]);
  await requeueWaiting(database.db, { log, projections: [rewards] });
  await given(log, [late], [rewards]);
  const values = () => database.db.selectFrom('rewards').select(['value', 'revisions']).execute();
  const live = await values();
  expect(live).toEqual([{ value: 0.75, revisions: 2 }]);

  const build = await foldShadow(log, rewards);
  expect((await compareBuild(database, build, waiting)).differences).toEqual([]);
  const from = await swapVersions(database, build, waiting);
  expect(await values()).toEqual(live);
  const { rows } = await sql<{ ordinal: number; value: number }>`select ordinal, value from reward_revisions order by 1`.execute(
    database.db,
  );
  expect(rows).toEqual([
    { ordinal: 1, value: 0.25 },
    { ordinal: 2, value: 0.75 },
  ]);
  const page = { limit: 10, towards: 'forwards', after: null, before: null } as const;
  const [listed] = await readQuarantine(database.db, [{}], QUARANTINE_ORDERING, page);
  expect(listed?.rows.map(({ row }) => [row.projection, row.offset, row.requeuedOffset])).toEqual([
    ['rewards', early, before.length],
  ]); // once, though the version that was live before keeps its own
  expect(await countQuarantine(database.db, [{}])).toEqual([1]);
  await swapVersions(database, await reopenKeptVersion(database, { ends: async () => endsOf(log) }, rewards, from), waiting);
  await dropBuild(database.db, rewards, build.version);
});

test('a record that was unreadable at first takes effect in a rebuild where it was requeued, although it is readable by then', async () => {
  const { before, early, late } = revisedEarly();
  const event = before[early] as Envelope;
  const log = testLog();
  const unread = { topic: 'trees', value: Buffer.from(JSON.stringify({ ...event, schemaVersion: 99 })) };
  await given(log, [...before.filter((_, i) => i !== early), unread, late], [rewards]);
  const place = before.length - 1;
  // as a program that knows version 99 reads it
  log.topics.get('trees')?.splice(place, 1, { offset: place, receivedAt: null, key: 'raw', value: encode(event) });
  const requeue = appendRequeue(log, 'trees', place);
  await projectSlice(database.db, log, 'trees', requeue, requeue + 1, [rewards]);
  expect(await database.db.selectFrom('rewards').select('value').execute()).toEqual([{ value: 0.25 }]);

  const build = await foldShadow(log, rewards);
  const comparison = await compareBuild(database, build, waiting);
  expect(comparison.differences).toEqual([]);
  expect(sums(comparison).anew).toEqual(sums(comparison).live);
  await dropBuild(database.db, rewards, build.version);
});

test('a rebuild has the same rows and the same quarantine, whatever came early and whenever it was requeued', async () => {
  const early = fc.array(fc.tuple(fc.nat(), fc.nat()), { minLength: 1, maxLength: 6 });
  await fc.assert(
    fc.asyncProperty(arbitraryRecord, early, fc.array(fc.nat(), { maxLength: 3 }), async (events, moved, cuts) => {
      await emptyReadModels(database.db);
      const record = events.filter(({ type }) => stepTree.handles.includes(type));
      for (const [at, to] of record.length === 0 ? [] : moved)
        record.splice(to % record.length, 0, ...record.splice(at % record.length, 1));
      const log = testLog();
      const ends = [...cuts.map((cut) => cut % (record.length + 1)), record.length].sort((a, b) => a - b);
      let from = 0;
      for (const [i, end] of ends.entries()) {
        await given(log, record.slice(from, end));
        if (i < ends.length - 1) await requeueWaiting(database.db, { log, projections: [stepTree] });
        from = end;
      }
      const live = await quarantinedIn('step-tree');

      const build = await foldShadow(log);
      const comparison = await compareBuild(database, build, waiting);
      const again = await quarantinedIn(build.shadow.name);
      await dropBuild(database.db, stepTree, build.version);
      expect(sums(comparison).anew).toEqual(sums(comparison).live);
      expect(again).toEqual(live);
    }),
    { numRuns: 4 },
  );
});
