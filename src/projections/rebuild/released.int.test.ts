import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Envelope } from '../../events/envelope.ts';
import type { Offsets } from '../../log/event-log.ts';
import { type Database, openDatabase } from '../../postgres/database.ts';
import { arbitraryRecord } from '../../testing/arbitrary-record.ts';
import { createTestDatabase, type TestDatabase } from '../../testing/database.ts';
import { appendTo, projectSlice, type TestLog, testLog } from '../../testing/given-events.ts';
import { emptyReadModels } from '../../testing/read-models.ts';
import { Story } from '../../testing/story.ts';
import { decodeRecords } from '../decode-records.ts';
import { applyIsolatingPoison } from '../isolate-poison.ts';
import { releaseFromQuarantine } from '../quarantine.ts';
import { stepTree } from '../step-tree/step-tree.ts';
import { compareBuild } from './compare-build.ts';
import { type Build, dropBuild, openBuild } from './open-build.ts';

const waiting = { limitMs: 5_000, signal: new AbortController().signal };
const { load: _, ...lookingUp } = stepTree;

let made: TestDatabase;
let database: Database;
beforeAll(async () => {
  made = await createTestDatabase();
  database = await openDatabase(made.url);
});
afterAll(async () => {
  await database.close();
  await made.drop();
});
beforeEach(() => emptyReadModels(database.db));

/** Appends events and folds them live. */
async function given(log: TestLog, events: readonly Envelope[]): Promise<void> {
  const from = log.topics.get('trees')?.length ?? 0;
  appendTo(log, events);
  await projectSlice(database.db, log, 'trees', from, log.topics.get('trees')?.length ?? 0, [stepTree]);
}

/** What is set aside under a name, in log order. */
async function setAside(projection: string) {
  const rows = await database.db
    .selectFrom('quarantine')
    .select(['topic', 'partition', 'offset', 'code', 'released_at'])
    .where('projection', '=', projection)
    .orderBy('offset')
    .execute();
  return rows.map(({ released_at, ...row }) => ({ ...row, released: released_at !== null }));
}

/** Releases by hand what goes, in log order. */
async function releaseAll(): Promise<void> {
  for (const place of await setAside('step-tree')) if (!place.released) await releaseFromQuarantine(database.db, stepTree, place);
}

/** Folds the log anew beside the live version, in one slice. */
async function foldAnew(log: TestLog): Promise<Build> {
  const records = log.topics.get('trees') ?? [];
  const ends: Offsets = new Map([['trees', new Map([[0, records.length]])]]);
  const build = await openBuild(database, { ends: async () => ends }, lookingUp);
  const slice = { topic: 'trees', partition: 0, from: 0, next: records.length };
  await applyIsolatingPoison(database.db, build.beside, { ...slice, items: decodeRecords({ ...slice, records }) });
  return build;
}

const sums = (comparison: Awaited<ReturnType<typeof compareBuild>>) => ({
  live: comparison.tables.map(({ live }) => live),
  anew: comparison.tables.map(({ anew }) => anew),
});

test('what live folded because of a release is folded anew as well, and waits in no quarantine', async () => {
  const story = new Story('released');
  const tree = story.tree(story.run(), 'a');
  const rollout = story.rollout(tree);
  const first = story.step(tree, rollout, tree.rootStepId, 1);
  const second = story.step(tree, rollout, first, 2);
  const third = story.step(tree, rollout, second, 3);
  story.finishRollout(tree, rollout, third, { steps: 3 });
  const [, opened, started, parent, early, ...later] = story.events as [Envelope, Envelope, Envelope, Envelope, Envelope];
  const log = testLog();
  await given(log, [opened, started, early, parent]);
  await releaseAll();
  await given(log, later);
  expect(await setAside('step-tree')).toEqual([
    { topic: 'trees', partition: 0, offset: 2, code: 'missing-parent', released: true },
  ]);

  const build = await foldAnew(log);
  expect(await setAside(build.beside.name)).toHaveLength(3); // the early step, and all that was told on top of it
  const comparison = await compareBuild(database, build, waiting);
  expect(comparison.differences).toEqual([]);
  expect(sums(comparison).anew).toEqual(sums(comparison).live);

  expect(comparison.tables.find(({ table }) => table === 'steps')?.anew.rows).toBe(4);
  expect(await setAside(build.beside.name)).toEqual(await setAside('step-tree'));
  await dropBuild(database.db, stepTree, build.version);
});

test('what was set aside after a release says why as live does, which had met other events by then, and when', async () => {
  const story = new Story('after');
  const tree = story.tree(story.run(), 'a');
  const first = story.step(tree, null, tree.rootStepId, 1);
  const rollout = story.rollout(tree, 0, { fromStepId: first });
  story.finishRollout(tree, rollout, story.id('a step that never came'));
  const [, opened, parent, early, finished] = story.events as [Envelope, Envelope, Envelope, Envelope, Envelope];
  const log = testLog();
  await given(log, [opened, early, parent]);
  await releaseAll();
  await given(log, [finished]);
  const times = (projection: string) =>
    database.db
      .selectFrom('quarantine')
      .select(['offset', 'field', 'reason', 'quarantined_at', 'released_at'])
      .where('projection', '=', projection)
      .orderBy('offset')
      .execute();

  const build = await foldAnew(log);
  expect((await times(build.beside.name))[1]?.field).toBe('data.rolloutId'); // live knew the rollout by then
  const { differences } = await compareBuild(database, build, waiting);
  expect(differences).toEqual([]);
  expect(await times(build.beside.name)).toEqual(await times('step-tree'));
  await dropBuild(database.db, stepTree, build.version);
});

test('whatever came early and whenever it was released, a fold anew holds the same rows and sets the same aside', async () => {
  const seen = { released: 0 };
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
        if (i < ends.length - 1) await releaseAll();
        from = end;
      }
      const live = await setAside('step-tree');
      seen.released += live.filter(({ released }) => released).length;

      const build = await foldAnew(log);
      const comparison = await compareBuild(database, build, waiting);
      const anew = await setAside(build.beside.name);
      await dropBuild(database.db, stepTree, build.version);
      expect(sums(comparison).anew).toEqual(sums(comparison).live);
      expect(anew).toEqual(live);
    }),
    { numRuns: 25 },
  );
  expect(seen.released).toBeGreaterThan(0);
}, 120_000);
