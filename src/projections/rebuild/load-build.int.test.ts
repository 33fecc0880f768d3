import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import type { Envelope } from '../../events/envelope.ts';
import type { Offsets } from '../../log/event-log.ts';
import { arbitraryRecord } from '../../testing/arbitrary-record.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { appendTo, projectSlice, settingBack, type TestLog, testLog } from '../../testing/given-events.ts';
import { emptyReadModels } from '../../testing/read-models.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { topicsOf } from '../apply-slice.ts';
import { decodeRecords } from '../decode-records.ts';
import { applyIsolatingPoison } from '../isolate-poison.ts';
import { LoadEnds, type Projection } from '../projection.ts';
import { projections } from '../registry.ts';
import { rewardsLoad } from '../rewards/load.ts';
import { loadTrees } from '../step-tree/load.ts';
import { applyLoad } from './apply-load.ts';
import type { Build } from './build.ts';
import { compareBuild } from './compare-build.ts';
import { KeysRepeat, makeDeferred } from './defer-indexes.ts';
import { loadBuild } from './load-build.ts';
import { dropBuild, openBuild } from './open-build.ts';

const database = useTestDatabase({ emptied: 'never' });

/**
 * What goes wrong with a record on its way: an event comes again, later; one never comes; one comes too late; bytes that are
 * none.
 */
const mishap = fc.record({ kind: fc.constantFrom('again', 'lost', 'late', 'garbage', 'changed'), at: fc.nat(), to: fc.nat() });
type RebuildReport = Envelope | { readonly topic: string; readonly value: Uint8Array };

function suffer(
  events: readonly Envelope[],
  mishaps: readonly (typeof mishap extends fc.Arbitrary<infer T> ? T : never)[],
): RebuildReport[] {
  const versionAndBuild: RebuildReport[] = [...events];
  for (const { kind, at, to } of mishaps) {
    const event = versionAndBuild[at % versionAndBuild.length];
    if (event === undefined) break;
    const place = to % (versionAndBuild.length + 1);
    switch (kind) {
      case 'again':
        versionAndBuild.splice(Math.max(place, (at % versionAndBuild.length) + 1), 0, event);
        break;
      case 'lost':
        versionAndBuild.splice(at % versionAndBuild.length, 1);
        break;
      case 'late':
        versionAndBuild.splice(place, 0, ...versionAndBuild.splice(at % versionAndBuild.length, 1));
        break;
      case 'garbage':
        versionAndBuild.splice(place, 0, { topic: 'trees', value: Buffer.from('{"type":"StepTaken"') });
        break;
      case 'changed':
        if ('topic' in event || event.type !== 'StepTaken') break;
        versionAndBuild.splice(place, 0, { ...event, data: { ...event.data, parentStepId: event.data.stepId } });
        break;
      default:
        kind satisfies never;
    }
  }
  return versionAndBuild;
}

const loadable: readonly (readonly [string, Projection])[] = [
  ...projections.filter(({ load }) => load !== undefined).map((projection) => [projection.name, projection] as const),
  ...projections
    .filter(({ name }) => name === 'rewards')
    .map((rewards) => ['rewards, of which little is remembered', { ...rewards, load: rewardsLoad(5) }] as const),
  ...projections
    .filter(({ name }) => name === 'step-tree')
    .map(
      (stepTree) =>
        ['step-tree, of which little is remembered', { ...stepTree, load: loadTrees({ forgetAbove: 3, most: 30 }) }] as const,
    ),
];

test.each(loadable)(
  'a load of %s yields the rows and the quarantine of an ordinary fold, however it is cut and wherever it ends',
  async (_, projection) => {
    const seen = { loaded: 0, ended: 0, repeated: 0 };
    const cuts = fc.array(fc.nat(40), { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(
        arbitraryRecord,
        fc.array(mishap, { maxLength: 6 }),
        cuts,
        fc.oneof(fc.nat(3), fc.constant(Number.POSITIVE_INFINITY)), // slices until it is killed: half of all loads are not
        async (events, mishaps, lengths, killedAfter) => {
          await emptyReadModels(database.db);
          const log = testLog();
          appendTo(log, suffer(events, mishaps), settingBack);
          for (const [topic, records] of log.topics) await projectSlice(database.db, log, topic, 0, records.length, [projection]);

          const build = await load(log, projection, lengths, killedAfter, seen);
          const { tables, differences } = await compareBuild(database, build, {
            limitMs: 5_000,
            signal: new AbortController().signal,
          });
          await dropBuild(database.db, projection, build.version);
          expect(differences).toEqual([]);
          expect(tables.map(({ anew }) => anew)).toEqual(tables.map(({ live }) => live));
        },
      ),
      { numRuns: 3 },
    );
  },
);

/** Loads a log by slices of the given lengths, is killed after some, and folds the rest as a process does that goes on. */
async function load(
  log: TestLog,
  projection: Projection,
  lengths: readonly number[],
  killedAfter: number,
  seen: { loaded: number; ended: number; repeated: number },
): Promise<Build> {
  const ends: Offsets = new Map([...log.topics].map(([topic, records]) => [topic, new Map([[0, records.length]])]));
  const open = (folding: Projection) => openBuild(database, { ends: async () => ends }, folding);
  const build = await open(projection);
  expect(build.next).toBe('load');
  try {
    const whole = await slices(log, build, lengths, killedAfter, applyLoad(build, new AbortController()));
    seen[whole ? 'loaded' : 'ended']++;
  } catch (error) {
    if (!(error instanceof LoadEnds)) throw error;
    seen.ended++;
  }
  const resumed = await open(projection);
  // 'load' where nothing was folded
  expect([resumed.version, resumed.next]).toEqual([build.version, expect.stringMatching(/load|index/)]);
  try {
    await makeDeferred(database, resumed, new AbortController().signal);
    await slices(log, build, lengths, Number.POSITIVE_INFINITY, applyIsolatingPoison);
    return build;
  } catch (error) {
    if (!(error instanceof KeysRepeat)) throw error;
    seen.repeated++;
    await dropBuild(database.db, projection, build.version);
    const { load: _, ...lookingUp } = projection;
    const again = await open(lookingUp);
    await slices(log, again, lengths, Number.POSITIVE_INFINITY, applyIsolatingPoison);
    return again;
  }
}

/** Applies every topic in slices, in turn; returns false when it stopped after `most` of them. */
async function slices(
  log: TestLog,
  { shadow, projection }: Build,
  lengths: readonly number[],
  most: number,
  apply: typeof applyIsolatingPoison,
): Promise<boolean> {
  let applied = 0;
  for (const [topic, records] of log.topics) {
    if (!topicsOf(projection).includes(topic)) continue;
    for (let from = 0; from < records.length; ) {
      const next = Math.min(records.length, from + 1 + (lengths[applied % lengths.length] ?? 0));
      if (applied++ >= most) return false;
      const items = await decodeRecords(database.db, { topic, partition: 0, from, next, records: records.slice(from, next) });
      await apply(database.db, shadow, { topic, partition: 0, from, next, items });
      from = next;
    }
  }
  return true;
}

test('a load that took an existing key for a new one is repeated with lookups', async () => {
  const stepTree = projections.find(({ name }) => name === 'step-tree');
  if (!stepTree) throw new Error('there is a projection step-tree');
  const forgetful = { ...stepTree, load: loadTrees({ forgetAbove: 0, most: 100 }) };
  const builder = new EventBuilder('key');
  const runId = builder.run();
  const [closed, other] = [builder.tree(runId, 'a'), builder.tree(runId, 'b')];
  const stepId = builder.step(closed, null, closed.rootStepId, 1);
  builder.closeTree(closed, 1);
  for (let i = 0; i < 8; i++) builder.step(other, null, other.rootStepId, 1); // more than twice the steps at which it last looked
  builder.step(other, null, other.rootStepId, 1, { stepId });
  await emptyReadModels(database.db);
  const log = testLog();
  appendTo(log, builder.events);
  for (const [topic, records] of log.topics) await projectSlice(database.db, log, topic, 0, records.length, [forgetful]);

  const seen = { loaded: 0, ended: 0, repeated: 0 };
  // an event at a time: forgotten before the other tree comes
  const build = await load(log, forgetful, [0], Number.POSITIVE_INFINITY, seen);
  expect(seen).toEqual({ loaded: 1, ended: 0, repeated: 1 });
  const { differences } = await compareBuild(database, build, { limitMs: 5_000, signal: new AbortController().signal });
  expect(differences).toEqual([]);
  const quarantined = await database.db
    .selectFrom('quarantine')
    .select('code')
    .where('projection', '=', build.shadow.name)
    .execute();
  expect(quarantined).toEqual([{ code: 'conflict' }]);
  await dropBuild(database.db, forgetful, build.version);
});

test('a load whose database loses commits that it had answered ends, and the ordinary fold writes what was lost', async () => {
  const rewards = projections.find(({ name }) => name === 'rewards');
  if (!rewards) throw new Error('there is a projection rewards');
  await emptyReadModels(database.db);
  const log = testLog();
  const builder = new EventBuilder('lost');
  const tree = builder.tree(builder.run());
  for (const ordinal of [0, 1, 2, 3]) builder.walk(tree, ordinal, 2, 1);
  appendTo(log, builder.events);
  for (const [topic, records] of log.topics) await projectSlice(database.db, log, topic, 0, records.length, [rewards]);
  const ends: Offsets = new Map([...log.topics].map(([topic, records]) => [topic, new Map([[0, records.length]])]));
  const open = () => openBuild(database, { ends: async () => ends }, rewards);

  const build = await open();
  const apply = applyLoad(build, new AbortController());
  await slices(log, build, [5], 4, apply);
  // What a crash before the disk, or an older copy, takes back: tables and cursors together.
  const { rows: tables } = await sql<{ name: string }>`
    select tablename as name from pg_tables where schemaname = ${build.schema}`.execute(database.db);
  for (const { name } of tables) await sql`delete from ${sql.id(build.schema, name)}`.execute(database.db);
  await sql`delete from cursors where projection = ${build.shadow.name}`.execute(database.db);

  await expect(slices(log, build, [5], Number.POSITIVE_INFINITY, apply)).rejects.toThrow('the database lost commits');
  await expect(slices(log, build, [5], Number.POSITIVE_INFINITY, apply)).rejects.toThrow(LoadEnds); // for good
  await makeDeferred(database, await open(), new AbortController().signal);
  await slices(log, build, [5], Number.POSITIVE_INFINITY, applyIsolatingPoison);
  const { differences } = await compareBuild(database, build, { limitMs: 5_000, signal: new AbortController().signal });
  expect(differences).toEqual([]);
  await dropBuild(database.db, rewards, build.version);
});

test('a load does not take the progress of other partitions at the same time for lost commits', async () => {
  const stepTree = projections.find(({ name }) => name === 'step-tree');
  if (!stepTree) throw new Error('there is a projection step-tree');
  await emptyReadModels(database.db);
  const logs = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => {
    const log = testLog();
    const builder = new EventBuilder(name);
    const tree = builder.tree(builder.run());
    for (let ordinal = 0; ordinal < 12; ordinal++) builder.walk(tree, ordinal, 2, 1);
    appendTo(log, builder.events);
    return log.topics.get('trees') ?? [];
  });
  const ends: Offsets = new Map([['trees', new Map(logs.map(({ length }, partition) => [partition, length]))]]);
  const build = await openBuild(database, { ends: async () => ends }, stepTree);
  const apply = applyLoad(build, new AbortController());
  const whole = logs.map(async (records, partition) => {
    for (const { offset: from } of records) {
      const next = from + 1;
      const items = await decodeRecords(database.db, {
        topic: 'trees',
        partition,
        from,
        next,
        records: records.slice(from, next),
      });
      await apply(database.db, build.shadow, { topic: 'trees', partition, from, next, items });
    }
  });
  await Promise.all(whole);
  await dropBuild(database.db, stepTree, build.version);
});

test('a load stopped while indexes are built ends after the current one, and the next load builds the rest', async () => {
  const stepTree = projections.find(({ name }) => name === 'step-tree');
  if (!stepTree) throw new Error('there is a projection step-tree');
  await emptyReadModels(database.db);
  const log = testLog();
  const builder = new EventBuilder('ended');
  builder.walk(builder.tree(builder.run()), 0, 3, 1);
  appendTo(log, builder.events);
  const ends: Offsets = new Map([...log.topics].map(([topic, records]) => [topic, new Map([[0, records.length]])]));
  const open = () => openBuild(database, { ends: async () => ends }, stepTree);
  const build = await open();
  await slices(log, build, [40], Number.POSITIVE_INFINITY, applyLoad(build, new AbortController()));
  const waiting = async () => {
    const { db } = database;
    return (await db.selectFrom('projectionBuilds').select('deferred').where('version', '=', build.version).executeTakeFirst())
      ?.deferred;
  };
  const before = (await waiting()) ?? [];

  const ending = new AbortController();
  const unread = undefined as never; // a log: nothing is read of it once the load has ended
  const ended = loadBuild(
    { log: unread, database },
    { ...build, next: 'index' },
    { signal: ending.signal, progress: () => undefined },
  );
  ending.abort(new Error('ended on request')); // the first is being built
  await expect(ended).rejects.toThrow('ended on request');
  expect(await waiting()).toEqual((before as string[]).slice(1));

  const resumed = await open();
  expect([resumed.version, resumed.next]).toEqual([build.version, 'index']);
  await makeDeferred(database, resumed, new AbortController().signal);
  expect(await waiting()).toBeNull();
  const { rows } = await sql<{ indexes: number; analyzed: number }>`
    select (select count(*)::int from pg_indexes where schemaname = ${build.schema}) as indexes,
      (select reltuples::int from pg_class where oid = ${`${build.schema}.steps`}::regclass) as analyzed`.execute(database.db);
  const live = await sql<{ indexes: number }>`
    select count(*)::int as indexes from pg_indexes where schemaname = 'step_tree_v1'`.execute(database.db);
  expect(rows).toEqual([{ indexes: live.rows[0]?.indexes, analyzed: 4 }]);
  await dropBuild(database.db, stepTree, build.version);
});
