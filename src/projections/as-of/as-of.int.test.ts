import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import type { Envelope } from '../../events/envelope.ts';
import type { Offsets } from '../../log/event-log.ts';
import { type Database, type Db, openDatabase } from '../../postgres/database.ts';
import { arbitraryRecord } from '../../testing/arbitrary-record.ts';
import { createTestDatabase, type TestDatabase } from '../../testing/database.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { everyEvent } from '../../testing/every-event.ts';
import { appendTo, projectSlice, releaseWaiting, type TestLog, testLog } from '../../testing/given-events.ts';
import { runs } from '../../testing/long-run.ts';
import { emptyReadModels, readModels } from '../../testing/read-models.ts';
import { until } from '../../testing/until.ts';
import { dropLeftSnapshots } from './snapshot-owner.ts';
import { keepSnapshots, type Snapshots } from './snapshots.ts';

const NEVER = new AbortController().signal;

const databases: { readonly test: TestDatabase; readonly database: Database }[] = [];
let live: Database;
let scratch: Database;
let url: string;
let snapshots: Snapshots;
beforeAll(async () => {
  for (let i = 0; i < 2; i++) {
    const test = await createTestDatabase();
    databases.push({ test, database: await openDatabase(test.url) });
  }
  [live, scratch] = databases.map(({ database }) => database) as [Database, Database]; // two were opened
  url = databases[0]?.test.url ?? '';
});
afterAll(async () => {
  for (const { test, database } of databases) {
    await database.close();
    await test.drop();
  }
});
beforeEach(async () => {
  await emptyReadModels(live.db);
  await emptyReadModels(scratch.db);
  snapshots = keepSnapshots(live, url, { records: 10_000, kept: 2 });
});
afterEach(() => snapshots.close()); // each test has its own: two records may have the same positions

/** Projects what lies below a position, and no more. */
async function projectUpTo(db: Db, log: TestLog, position: Offsets): Promise<void> {
  for (const [topic, partitions] of position) await projectSlice(db, log, topic, 0, partitions.get(0) ?? 0);
}

function ends(log: TestLog): Offsets {
  return new Map([...log.topics].map(([topic, records]) => [topic, new Map([[0, records.length]])]));
}

/** The position after the first events of a record, as they were appended. */
function after(events: readonly Envelope[]): Offsets {
  const log = testLog();
  appendTo(log, events);
  return ends(log);
}

/**
 * The rows of each table of read models as sorted text, in the schema that the connection reads, and the quarantine with them.
 */
async function tablesOf(db: Db, names: readonly string[]): Promise<Record<string, string[]>> {
  const tables: Record<string, string[]> = {};
  for (const name of [...names, 'quarantine']) {
    const { rows } = await sql<{ row: string }>`
      select (to_jsonb(t) - '{quarantined_at}'::text[])::text as row from ${sql.table(name)} t order by 1`.execute(db);
    tables[name] = rows.map(({ row }) => row);
  }
  return tables;
}

async function expectFoldOf(log: TestLog, position: Offsets): Promise<void> {
  await emptyReadModels(scratch.db);
  await projectUpTo(scratch.db, log, position);
  const names = Object.keys(await readModels(scratch.db));
  // None is kept from one record to the next: both may have the same positions.
  const fresh = keepSnapshots(live, url, { records: 10_000 });
  try {
    const snapshot = await fresh.at({ kind: 'position', position }, 'all', NEVER);
    expect(await tablesOf(snapshot.db, names)).toEqual(await tablesOf(scratch.db, names));
    snapshot.release();
  } finally {
    await fresh.close();
  }
}

/** A record as producers leave it: some events come twice, some before what they depend on, some under an id that is taken. */
const disturbedRecord = fc
  .tuple(arbitraryRecord, fc.array(fc.tuple(fc.nat(), fc.nat(), fc.constantFrom('again', 'early', 'taken')), { maxLength: 6 }))
  .map(([events, disturbances]) => {
    const record = [...events];
    for (const [i, j, kind] of disturbances) {
      const at = i % record.length;
      const event = record[at];
      if (!event) continue;
      if (kind === 'again') record.splice(j % (record.length + 1), 0, event);
      if (kind === 'early') record.splice(j % record.length, 0, ...record.splice(at, 1));
      if (kind === 'taken') record.splice(at + 1, 0, { ...event, data: { ...event.data, reason: `other ${j}` } } as Envelope);
    }
    return record;
  });

describe('read models as of a position', () => {
  test('the read models as of a position are the fold of the first events, whatever was recorded and however much follows', async () => {
    await fc.assert(
      fc.asyncProperty(disturbedRecord, fc.array(fc.nat(), { minLength: 1, maxLength: 2 }), async (events, cuts) => {
        await emptyReadModels(live.db);
        const log = testLog();
        appendTo(log, events);
        await projectUpTo(live.db, log, ends(log));
        for (const cut of cuts) await expectFoldOf(log, after(events.slice(0, cut % (events.length + 1))));
      }),
      { numRuns: runs(12) },
    );
  }, 180_000);

  test('the read models as of any offsets are the fold of the events below them, for every type of event', async () => {
    const log = testLog();
    appendTo(log, everyEvent());
    await projectUpTo(live.db, log, ends(log));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(), { minLength: 5, maxLength: 5 }), async (cuts) => {
        const topics = [...log.topics];
        await expectFoldOf(
          log,
          new Map(topics.map(([topic, records], i) => [topic, new Map([[0, (cuts[i] ?? 0) % (records.length + 1)]])])),
        );
      }),
      { numRuns: runs(12) },
    );
  }, 120_000);

  test('a released event is included from the place of its release on, also where an earlier snapshot was kept', async () => {
    const { log, later } = await givenReleased();
    appendTo(log, later);
    const before = ends(log);
    await projectUpTo(live.db, log, before);
    const depths = async (position: Offsets) => {
      const snapshot = await snapshots.at({ kind: 'position', position }, 'all', NEVER);
      const rows = await snapshot.db.selectFrom('steps').select('depth').orderBy('depth').execute();
      snapshot.release();
      return rows.map(({ depth }) => depth);
    };
    expect(await depths(before)).toEqual([0, 1]); // what hangs on the waiting step waits with it
    await releaseWaiting(live.db, { log });
    await projectUpTo(live.db, log, ends(log));
    expect(await depths(before)).toEqual([0, 1]);
    expect(await depths(ends(log))).toEqual([0, 1, 2, 3]);
    const fresh = keepSnapshots(live, url, { records: 10_000 });
    const again = await fresh.at({ kind: 'position', position: before }, 'all', NEVER);
    expect(await again.db.selectFrom('steps').select('depth').execute()).toHaveLength(2);
    again.release();
    await fresh.close();
  });

  test('a released event is included from the time of its release on, although it occurred earlier', async () => {
    const { log } = await givenReleased();
    await releaseWaiting(live.db, { log });
    const { rows } = await sql<{ at: Date }>`select min(released_at) as at from quarantine_releases`.execute(live.db);
    const released = rows[0]?.at.getTime() ?? Number.NaN;
    const steps = async (time: number) => {
      const snapshot = await snapshots.at({ kind: 'time', time: new Date(time) }, 'all', NEVER);
      const { length } = await snapshot.db.selectFrom('steps').select('stepId').execute();
      snapshot.release();
      return length;
    };
    expect([await steps(released - 1), await steps(released)]).toEqual([2, 3]);
  });
});

/** A step before its parent, which is there by now, and events that hang on it. */
async function givenReleased() {
  const recorded = new EventBuilder('hanging');
  const tree = recorded.tree(recorded.run(), 'a');
  const rollout = recorded.rollout(tree);
  const first = recorded.step(tree, rollout, tree.rootStepId, 1);
  const second = recorded.step(tree, rollout, first, 2);
  const third = recorded.step(tree, rollout, second, 3);
  recorded.finishRollout(tree, rollout, third, { steps: 3 });
  const [run, opened, started, parent, early, ...later] = recorded.events as [Envelope, Envelope, Envelope, Envelope, Envelope];
  const log = testLog();
  appendTo(log, [run, opened, started, early, parent]);
  await projectUpTo(live.db, log, ends(log));
  return { log, later, opened, tree };
}

describe('events that depend on a released event', () => {
  const names = ['steps', 'rollouts', 'rewards', 'reward_edges', 'returns', 'quarantine'];
  const waiting = async (db: Db) => {
    const ofTree = db.selectFrom('quarantine').select('offset').where('projection', '=', 'step-tree');
    return (await ofTree.where('releasedAt', 'is', null).orderBy('offset').execute()).map(({ offset }) => offset);
  };

  test.each(['all', 'the tree'] as const)('a dependent event is folded with it and waits in no quarantine: %s', async (scope) => {
    const { log, later, tree } = await givenReleased();
    await releaseWaiting(live.db, { log });
    appendTo(log, later);
    await projectUpTo(live.db, log, ends(log));
    const of = scope === 'all' ? scope : { ...ENTITIES, trees: [tree.treeId] };
    const snapshot = await snapshots.at({ kind: 'position', position: ends(log) }, of, NEVER);
    expect(await snapshot.db.selectFrom('steps').select('stepId').execute()).toHaveLength(4);
    expect(await tablesOf(snapshot.db, names)).toEqual(await tablesOf(live.db, names));
    snapshot.release();
  });

  test('a dependent event waits where the live fold still quarantines it', async () => {
    const { log, later, opened } = await givenReleased();
    appendTo(log, [...later, opened]); // once more: another position, so that no snapshot of it is kept
    await projectUpTo(live.db, log, ends(log)); // nothing was released
    const snapshot = await snapshots.at({ kind: 'position', position: ends(log) }, 'all', NEVER);
    expect(await waiting(snapshot.db)).toEqual([2, 4, 5]);
    expect(await tablesOf(snapshot.db, names)).toEqual(await tablesOf(live.db, names));
    snapshot.release();
  });
});

async function givenTrees(...names: readonly string[]) {
  const recorded = new EventBuilder('trees');
  const run = recorded.run();
  const trees = names.map((name) => {
    const tree = recorded.tree(run, name);
    return { ...tree, ...recorded.walk(tree, 0, 3, 1) };
  });
  const log = testLog();
  appendTo(log, recorded.events);
  await projectUpTo(live.db, log, ends(log));
  return { run, trees, position: ends(log) };
}

const ENTITIES = { runs: [], trees: [], steps: [], rollouts: [] };

describe('snapshots of some entities', () => {
  test('a partial snapshot holds the same streams as the whole one, and no table of other projections', async () => {
    const { trees, position, run } = await givenTrees('a', 'b');
    const [a, b] = trees;
    const moment = { kind: 'position', position } as const;
    const ofTree = await snapshots.at(moment, { ...ENTITIES, trees: [a?.treeId ?? ''] }, NEVER);
    const ofStep = await snapshots.at(moment, { ...ENTITIES, steps: [b?.steps[0] ?? ''] }, NEVER);
    const ofRun = await snapshots.at(moment, { ...ENTITIES, runs: [run] }, NEVER);
    const treesOf = async (db: Db) =>
      (await db.selectFrom('steps').select('treeId').distinct().execute()).map((row) => row.treeId);
    expect(await treesOf(ofTree.db)).toEqual([a?.treeId]);
    expect(await treesOf(ofStep.db)).toEqual([b?.treeId]);
    expect((await treesOf(ofRun.db)).sort()).toEqual(trees.map(({ treeId }) => treeId).sort());
    const names = ['runs', 'trees', 'steps', 'rollouts', 'rewards'];
    expect(await tablesOf(ofRun.db, names)).toEqual(await tablesOf(live.db, names));
    await expect(ofRun.db.selectFrom('datasets').selectAll().execute()).rejects.toThrow('relation "datasets" does not exist');
    for (const { release } of [ofTree, ofStep, ofRun]) release();
  });
});

describe('snapshots', () => {
  const schemas = async () =>
    (await sql<{ name: string }>`select nspname as name from pg_namespace where nspname like 'as\\_of\\_%'`.execute(live.db)).rows
      .length;

  test('a snapshot cannot be written', async () => {
    const { position } = await givenTrees('a');
    const { db, release } = await snapshots.at({ kind: 'position', position }, 'all', NEVER);
    await expect(sql`delete from steps`.execute(db)).rejects.toThrow('read-only transaction');
    release();
  });

  test('a snapshot is folded once for concurrent readers, and only the configured number is kept', async () => {
    const { trees, position } = await givenTrees('a', 'b', 'c');
    const own = keepSnapshots(live, url, { records: 1_000, kept: 1 });
    const before = await schemas();
    const ask = (i: number) => own.at({ kind: 'position', position }, { ...ENTITIES, trees: [trees[i]?.treeId ?? ''] }, NEVER);
    const [one, two] = await Promise.all([ask(0), ask(0)]);
    expect(one.db).toBe(two.db);
    for (const { release } of [one, two, await ask(1), await ask(2)]) release();
    const again = await ask(2);
    again.release();
    await own.close();
    expect(await schemas()).toBe(before);
  });

  test('a snapshot of too many events is refused with the remedy, as is one beyond the journal', async () => {
    const { trees, position } = await givenTrees('a', 'b');
    const own = keepSnapshots(live, url, { records: 12 });
    const moment = { kind: 'position', position } as const;
    const events = [...position.values()].reduce((sum, partitions) => sum + (partitions.get(0) ?? 0), 0);
    await expect(own.at(moment, 'all', NEVER)).rejects.toThrow(
      `${events} events would have to be folded and 12 are allowed; ask for an earlier moment, or ask for one run or tree by its id, or raise ESPALIER_ASOF_LIMIT`,
    );
    (await own.at(moment, { ...ENTITIES, trees: [trees[0]?.treeId ?? ''] }, NEVER)).release();
    const beyond = new Map([['trees', new Map([[0, 1_000]])]]);
    await expect(own.at({ kind: 'position', position: beyond }, 'all', NEVER)).rejects.toThrow(
      /lies beyond what is journalled, runs\.0:1,trees\.0:/,
    );
    await own.close();
  });

  test('the fold of a snapshot stops when nobody waits for it, and starts again for the next reader', async () => {
    const { position } = await givenTrees('a');
    const own = keepSnapshots(live, url, { records: 1_000 });
    const before = await schemas();
    const leaving = new AbortController();
    const asked = own.at({ kind: 'position', position }, 'all', leaving.signal);
    setImmediate(() => leaving.abort(new Error('left')));
    await expect(asked).rejects.toThrow('left');
    (await own.at({ kind: 'position', position }, 'all', NEVER)).release();
    await own.close();
    expect(await schemas()).toBe(before);
  });

  test('a snapshot left by a killed process is dropped by the next process that keeps some, and one of a living process is kept', async () => {
    const { position, trees } = await givenTrees('a');
    const held = await snapshots.at({ kind: 'position', position }, 'all', NEVER);
    await sql`create schema as_of_7_1`.execute(live.db);
    const own = keepSnapshots(live, url, { records: 1_000 });
    (await own.at({ kind: 'position', position }, { ...ENTITIES, trees: [trees[0]?.treeId ?? ''] }, NEVER)).release();
    const { rows } = await sql`select from pg_namespace where nspname = 'as_of_7_1'`.execute(live.db);
    expect(rows).toEqual([]);
    expect(await held.db.selectFrom('trees').select('treeId').execute()).toEqual([{ treeId: trees[0]?.treeId }]);
    held.release();
    await own.close();
  });

  test('a snapshot left by a killed process is dropped when the API starts', async () => {
    await sql`create schema as_of_8_1`.execute(live.db);
    const before = await schemas();
    await dropLeftSnapshots(url, live.db);
    expect(await schemas()).toBe(before - 1);
  });

  test('a snapshot is folded again when the connection that marks it as used was lost', async () => {
    const { position, trees } = await givenTrees('a');
    const own = keepSnapshots(live, url, { records: 1_000 });
    const ask = () => own.at({ kind: 'position', position }, { ...ENTITIES, trees: [trees[0]?.treeId ?? ''] }, NEVER);
    const before = await ask();
    before.release();
    await sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'espalier as of' and backend_start >= all (
        select backend_start from pg_stat_activity where datname = current_database() and application_name = 'espalier as of')`.execute(
      live.db,
    );
    await until(async () => {
      const after = await ask();
      after.release();
      return after.db !== before.db;
    });
    const after = await ask();
    expect(await after.db.selectFrom('trees').select('treeId').execute()).toEqual([{ treeId: trees[0]?.treeId }]);
    after.release();
    await own.close();
  });

  describe('as of a time of records that the log dated', () => {
    const day = (date: number) => Date.UTC(2026, 7, date);
    const runsAt = async (time: number) => {
      const { db, release } = await snapshots.at({ kind: 'time', time: new Date(time) }, 'all', NEVER);
      const rows = await db.selectFrom('runs').select('name').orderBy('name').execute();
      release();
      return rows.map(({ name }) => name);
    };
    /** Runs by their names, each begun at a time of its producer's choice and received at another. */
    async function givenRuns(given: readonly (readonly [name: string, occurredAt: string, receivedAt: number | null])[]) {
      await emptyReadModels(live.db);
      const log = testLog();
      const recorded = new EventBuilder('dated');
      for (const [name] of given) recorded.run(name);
      const events = recorded.events.map((event, i) => ({
        ...event,
        data: { ...event.data, name: given[i]?.[0] },
        occurredAt: given[i]?.[1],
      }));
      appendTo(log, events as Envelope[], (offset) => given[offset]?.[2] ?? null);
      await projectUpTo(live.db, log, new Map([['runs', new Map([[0, events.length]])]]));
    }

    test('an event that says it happens in the year 9999 holds nothing back', async () => {
      await givenRuns([
        ['a', '2026-08-01T00:00:00.000Z', day(1)],
        ['b', '9999-12-31T23:59:59.999Z', day(2)],
        ['c', '2026-08-03T00:00:00.000Z', day(3)],
      ]);
      expect(await runsAt(day(1) - 1)).toEqual([]);
      expect(await runsAt(day(1))).toEqual(['a']);
      expect(await runsAt(day(2))).toEqual(['a', 'b']);
      expect(await runsAt(day(3))).toEqual(['a', 'b', 'c']);
    });

    test('an event that says it happened long ago was not on record before the log took it', async () => {
      await givenRuns([['a', '1970-01-01T00:00:00.000Z', day(2)]]);
      expect(await runsAt(day(2) - 1)).toEqual([]);
      expect(await runsAt(day(2))).toEqual(['a']);
    });

    test('records that were never dated count by what they say, up to the first dated one', async () => {
      await givenRuns([
        ['a', '2026-08-01T00:00:00.000Z', null],
        ['b', '9999-12-31T23:59:59.999Z', null],
        ['c', '2026-08-02T00:00:00.000Z', null],
        ['d', '2026-08-04T00:00:00.000Z', day(4)],
      ]);
      expect(await runsAt(day(3))).toEqual(['a']);
      expect(await runsAt(day(4))).toEqual(['a', 'b', 'c', 'd']);
    });

    test('a clock that was set back takes nothing out of a moment', async () => {
      await givenRuns([
        ['a', '2026-08-01T00:00:00.000Z', day(3)],
        ['b', '2026-08-01T00:00:00.000Z', day(1)],
      ]);
      expect(await runsAt(day(2))).toEqual([]);
      expect(await runsAt(day(3))).toEqual(['a', 'b']);
    });
  });

  test('a snapshot as of a time ends in each partition before the first later event', async () => {
    const { trees, run } = await givenTrees('a');
    const { rows } = await sql<{ at: Date; offset: number }>`
      select occurred_at as at, "offset" from events where topic = 'trees' order by "offset" offset 2 limit 1`.execute(live.db);
    const third = rows[0];
    const { db, position, release } = await snapshots.at({ kind: 'time', time: third?.at ?? new Date() }, 'all', NEVER);
    expect(position.get('trees')).toEqual(new Map([[0, (third?.offset ?? 0) + 1]]));
    expect(await db.selectFrom('runs').select('runId').execute()).toEqual([{ runId: run }]);
    expect(await db.selectFrom('trees').select('treeId').execute()).toEqual([{ treeId: trees[0]?.treeId }]);
    release();
    const early = await snapshots.at({ kind: 'time', time: new Date(0) }, 'all', NEVER);
    expect(await early.db.selectFrom('runs').select('runId').execute()).toEqual([]);
    early.release();
  });
});
