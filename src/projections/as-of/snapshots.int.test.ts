import { describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Envelope } from '../../events/envelope.ts';
import type { Db } from '../../postgres/database.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { appendTo, testLog } from '../../testing/given-events.ts';
import { emptyReadModels } from '../../testing/read-models.ts';
import { until } from '../../testing/until.ts';
import { ENTITIES, givenTrees, NEVER, projectUpTo, tablesOf, useAsOf } from './as-of-testing.ts';
import { dropLeftSnapshots } from './snapshot-owner.ts';
import { dropAllSnapshots } from './snapshot-schema.ts';
import { keepSnapshots } from './snapshots.ts';

const asOf = useAsOf();
describe('snapshots of some entities', () => {
  test('a partial snapshot holds the same streams as the whole one, and no table of other projections', async () => {
    const { trees, position, run } = await givenTrees(asOf.live.db, 'a', 'b');
    const [a, b] = trees;
    const moment = { kind: 'position', position } as const;
    const ofTree = await asOf.snapshots.at(moment, { ...ENTITIES, trees: [a?.treeId ?? ''] }, NEVER);
    const ofStep = await asOf.snapshots.at(moment, { ...ENTITIES, steps: [b?.steps[0] ?? ''] }, NEVER);
    const ofRun = await asOf.snapshots.at(moment, { ...ENTITIES, runs: [run] }, NEVER);
    const treesOf = async (db: Db) =>
      (await db.selectFrom('steps').select('treeId').distinct().execute()).map((row) => row.treeId);
    expect(await treesOf(ofTree.db)).toEqual([a?.treeId]);
    expect(await treesOf(ofStep.db)).toEqual([b?.treeId]);
    expect((await treesOf(ofRun.db)).sort()).toEqual(trees.map(({ treeId }) => treeId).sort());
    const names = ['runs', 'trees', 'steps', 'rollouts', 'rewards'];
    expect(await tablesOf(ofRun.db, names)).toEqual(await tablesOf(asOf.live.db, names));
    await expect(ofRun.db.selectFrom('datasets').selectAll().execute()).rejects.toThrow('relation "datasets" does not exist');
    for (const { release } of [ofTree, ofStep, ofRun]) release();
  });
});

describe('snapshots', () => {
  const schemas = async () =>
    (await sql<{ name: string }>`select nspname as name from pg_namespace where nspname like 'as\\_of\\_%'`.execute(asOf.live.db))
      .rows.length;

  test('a snapshot cannot be written', async () => {
    const { position } = await givenTrees(asOf.live.db, 'a');
    const { db, release } = await asOf.snapshots.at({ kind: 'position', position }, 'all', NEVER);
    await expect(sql`delete from steps`.execute(db)).rejects.toThrow('read-only transaction');
    release();
  });

  test('a snapshot is folded once for concurrent readers, and only the configured number is kept', async () => {
    const { trees, position } = await givenTrees(asOf.live.db, 'a', 'b', 'c');
    const own = keepSnapshots(asOf.live, asOf.url, { records: 1_000, kept: 1 });
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

  test('a snapshot that a forgetting dropped since is folded again', async () => {
    const { position } = await givenTrees(asOf.live.db, 'a');
    const own = keepSnapshots(asOf.live, asOf.url, { records: 1_000 });
    const steps = async () => {
      const { db, release } = await own.at({ kind: 'position', position }, 'all', NEVER);
      const rows = await db.selectFrom('steps').select('stepId').orderBy('stepId').execute();
      release();
      return rows;
    };
    const first = await steps();
    await dropAllSnapshots(asOf.live.db);
    expect(first).not.toEqual([]);
    expect(await steps()).toEqual(first);
    await own.close();
  });

  test('a snapshot of too many events is refused with the remedy, as is one beyond the journal', async () => {
    const { trees, position } = await givenTrees(asOf.live.db, 'a', 'b');
    const own = keepSnapshots(asOf.live, asOf.url, { records: 12 });
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
    const { position } = await givenTrees(asOf.live.db, 'a');
    const own = keepSnapshots(asOf.live, asOf.url, { records: 1_000 });
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
    const { position, trees } = await givenTrees(asOf.live.db, 'a');
    const held = await asOf.snapshots.at({ kind: 'position', position }, 'all', NEVER);
    await sql`create schema as_of_7_1`.execute(asOf.live.db);
    const own = keepSnapshots(asOf.live, asOf.url, { records: 1_000 });
    (await own.at({ kind: 'position', position }, { ...ENTITIES, trees: [trees[0]?.treeId ?? ''] }, NEVER)).release();
    const { rows } = await sql`select from pg_namespace where nspname = 'as_of_7_1'`.execute(asOf.live.db);
    expect(rows).toEqual([]);
    expect(await held.db.selectFrom('trees').select('treeId').execute()).toEqual([{ treeId: trees[0]?.treeId }]);
    held.release();
    await own.close();
  });

  test('a snapshot left by a killed process is dropped when the API starts', async () => {
    await sql`create schema as_of_8_1`.execute(asOf.live.db);
    const before = await schemas();
    await dropLeftSnapshots(asOf.url, asOf.live.db);
    expect(await schemas()).toBe(before - 1);
  });

  test('a snapshot is folded again when the connection that marks it as used was lost', async () => {
    const { position, trees } = await givenTrees(asOf.live.db, 'a');
    const own = keepSnapshots(asOf.live, asOf.url, { records: 1_000 });
    const ask = () => own.at({ kind: 'position', position }, { ...ENTITIES, trees: [trees[0]?.treeId ?? ''] }, NEVER);
    const before = await ask();
    before.release();
    await sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and application_name = 'espalier as of' and backend_start >= all (
        select backend_start from pg_stat_activity where datname = current_database() and application_name = 'espalier as of')`.execute(
      asOf.live.db,
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
      const { db, release } = await asOf.snapshots.at({ kind: 'time', time: new Date(time) }, 'all', NEVER);
      const rows = await db.selectFrom('runs').select('name').orderBy('name').execute();
      release();
      return rows.map(({ name }) => name);
    };
    /** Runs by their names, each begun at a time of its producer's choice and received at another. */
    async function givenRuns(given: readonly (readonly [name: string, occurredAt: string, receivedAt: number | null])[]) {
      await emptyReadModels(asOf.live.db);
      const log = testLog();
      const recorded = new EventBuilder('dated');
      for (const [name] of given) recorded.run(name);
      const events = recorded.events.map((event, i) => ({
        ...event,
        data: { ...event.data, name: given[i]?.[0] },
        occurredAt: given[i]?.[1],
      }));
      appendTo(log, events as Envelope[], (offset) => given[offset]?.[2] ?? null);
      await projectUpTo(asOf.live.db, log, new Map([['runs', new Map([[0, events.length]])]]));
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
    const { trees, run } = await givenTrees(asOf.live.db, 'a');
    const { rows } = await sql<{ at: Date; offset: number }>`
      select occurred_at as at, "offset" from events where topic = 'trees' order by "offset" offset 2 limit 1`.execute(
      asOf.live.db,
    );
    const third = rows[0];
    const { db, position, release } = await asOf.snapshots.at({ kind: 'time', time: third?.at ?? new Date() }, 'all', NEVER);
    expect(position.get('trees')).toEqual(new Map([[0, (third?.offset ?? 0) + 1]]));
    expect(await db.selectFrom('runs').select('runId').execute()).toEqual([{ runId: run }]);
    expect(await db.selectFrom('trees').select('treeId').execute()).toEqual([{ treeId: trees[0]?.treeId }]);
    release();
    const early = await asOf.snapshots.at({ kind: 'time', time: new Date(0) }, 'all', NEVER);
    expect(await early.db.selectFrom('runs').select('runId').execute()).toEqual([]);
    early.release();
  });
});
