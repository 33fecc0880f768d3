import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { openEmbeddedLog } from '../log/embedded-log.ts';
import type { EventLog, Subscription } from '../log/event-log.ts';
import { partitionForKey } from '../log/partition-for-key.ts';
import { openDatabase } from '../postgres/database.ts';
import { connect } from '../postgres/pool.ts';
import { startCuttableProxy } from '../testing/cuttable-proxy.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { openTestWorld, type TestWorld } from '../testing/open-test-log.ts';
import { emptyReadModels, readModels } from '../testing/read-models.ts';
import { until } from '../testing/until.ts';
import type { Projection } from './projection.ts';
import { projections } from './registry.ts';
import { type RunnerReport, runProjections } from './runner.ts';

let world: TestWorld;
const runners: Subscription[] = [];
beforeEach(async () => {
  world = await openTestWorld();
});
afterEach(async () => {
  for (const runner of runners.splice(0)) await runner.close();
  await world.close();
});

/** A run of two trees; each further call with the same builder records one more walk in both. */
function recordMore(builder: EventBuilder): void {
  const runId = builder.id('run', 'run');
  if (builder.events.length === 0) {
    builder.run();
    for (const name of ['a', 'b']) builder.tree(runId, name);
  }
  const ordinal = builder.events.length;
  for (const name of ['a', 'b']) {
    const treeId = builder.id('tree', runId, name);
    builder.walk({ treeId, rootStepId: builder.id('root', treeId), runId }, ordinal, 3, 1);
  }
}

/** A builder whose two trees lie in the two partitions: of two runners each gets one, however the partitions are shared. */
function overBothPartitions(): EventBuilder {
  for (let i = 0; ; i++) {
    const builder = new EventBuilder(`shared ${i}`);
    const runId = builder.id('run', 'run');
    const [a, b] = ['a', 'b'].map((name) => partitionForKey(builder.id('tree', runId, name), 2));
    if (a !== b) return builder;
  }
}

/** Appends what the builder has recorded since the last call. */
async function appendRest(builder: EventBuilder): Promise<void> {
  const from = appended.get(builder) ?? 0;
  await world.append(builder.events.slice(from));
  appended.set(builder, builder.events.length);
}
const appended = new WeakMap<EventBuilder, number>();

/** Starts a runner over the world, with what it reports. */
async function start(
  options: Partial<Parameters<typeof runProjections>[0]> = {},
): Promise<{ runner: Subscription; reports: RunnerReport[] }> {
  const reports: RunnerReport[] = [];
  const runner = await runProjections({ log: world.log, database: world.database, report: (r) => reports.push(r), ...options });
  runners.push(runner);
  return { runner, reports };
}

const LIMIT_MS = 60_000;
const OF_ITS_LOG = ['received_at']; // two logs take the same events at different times

/** The read models that an undisturbed runner makes of a builder's events. */
async function undisturbed(builder: EventBuilder): Promise<Record<string, string[]>> {
  const other = await openTestWorld();
  try {
    await other.append(builder.events);
    const runner = await runProjections({ log: other.log, database: other.database });
    await other.settled();
    await runner.close();
    return await readModels(other.database.db, OF_ITS_LOG);
  } finally {
    await other.close();
  }
}

/** The registered projections, one of them replaced. */
function withProjection(changed: Projection): readonly Projection[] {
  return projections.map((projection) => (projection.name === changed.name ? changed : projection));
}

function registered(name: string): Projection {
  const found = projections.find((projection) => projection.name === name);
  if (!found) throw new Error(`there is no projection ${name}`);
  return found;
}

async function stateOf(name: string): Promise<{ state: string; reason: string | null } | undefined> {
  return world.database.db.selectFrom('projections').select(['state', 'reason']).where('name', '=', name).executeTakeFirst();
}

describe('a fault that no event explains', () => {
  test('a wrong statement stops only its own projection, and a runner started without the bug folds what is missing', async () => {
    const builder = new EventBuilder('bug');
    const buggy: Projection = {
      ...registered('step-tree'),
      project: async (batch, trx) => {
        if (batch.some(({ event }) => event.type === 'RolloutFinished')) await sql`select leaf from steps`.execute(trx);
        return registered('step-tree').project(batch, trx);
      },
    };
    const { runner, reports } = await start({ projections: withProjection(buggy) });
    recordMore(builder);
    await appendRest(builder);
    await until(() => reports.some(({ kind }) => kind === 'stopped'));
    const rest = projections.filter(({ name }) => name !== 'step-tree').map(({ name }) => name);
    await until(async () => (await finishedReturns()) === 2);
    expect(reports.filter(({ kind }) => kind === 'stopped')).toEqual([
      { kind: 'stopped', projection: 'step-tree', reason: 'error: column "leaf" does not exist' },
    ]);
    expect(await stateOf('step-tree')).toEqual({ state: 'stopped', reason: 'error: column "leaf" does not exist' });
    for (const name of rest) expect(await stateOf(name)).toEqual({ state: 'running', reason: null });
    expect(await world.database.db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
    await runner.close();

    await start();
    await world.settled();
    expect(await stateOf('step-tree')).toEqual({ state: 'running', reason: null });
    expect(await readModels(world.database.db, OF_ITS_LOG)).toEqual(await undisturbed(builder));
  });
});

async function finishedReturns(): Promise<number> {
  return (await world.database.db.selectFrom('returns').select('rolloutId').execute()).length;
}

describe('the cursor in the database', () => {
  test('a cursor reset together with its rows leads to redelivery, which the projections that are ahead ignore', async () => {
    const builder = new EventBuilder('set back');
    recordMore(builder);
    const first = await start();
    await appendRest(builder);
    await world.settled();
    await first.runner.close();
    const { pool } = world.database;
    await pool.query("delete from cursors where projection = 'rewards'");
    await pool.query(
      'truncate rewards_v4.rewards, rewards_v4.reward_revisions, rewards_v4.reward_edges, rewards_v4.reward_trees, rewards_v4.returns, rewards_v4.run_returns',
    );
    await start();
    await world.settled();
    expect(await readModels(world.database.db, OF_ITS_LOG)).toEqual(await undisturbed(builder));
  });

  test('a cursor that regresses under a running runner is folded again, although nothing is appended', async () => {
    const builder = new EventBuilder('regressed');
    recordMore(builder);
    const { runner } = await start();
    await appendRest(builder);
    await world.settled();
    await emptyReadModels(world.database.db);
    await world.settled();
    await runner.close();
    expect(await readModels(world.database.db, OF_ITS_LOG)).toEqual(await undisturbed(builder));
  });

  test('the cursor of a restored older database leads to redelivery of later events, with the same rows', async () => {
    const builder = new EventBuilder('restored');
    const models = await openTestWorld(); // the read models in another database than the log
    const before = await start({ database: models.database });
    recordMore(builder);
    await appendRest(builder);
    await world.settled(models.database);
    await before.runner.close();
    const backup = await copyOf(models);
    const between = await start({ database: models.database });
    recordMore(builder);
    await appendRest(builder);
    await world.settled(models.database);
    await between.runner.close();

    const restored = await openDatabase(backup.url);
    try {
      const after = await start({ database: restored });
      await world.settled(restored);
      await after.runner.close();
      expect(await readModels(restored.db, OF_ITS_LOG)).toEqual(await undisturbed(builder));
    } finally {
      await restored.close();
      await backup.drop();
      await models.close();
    }
  });

  test('a cursor below the start of the log stops the projection with the reason, and the others continue', async () => {
    const builder = new EventBuilder('forgotten');
    recordMore(builder);
    const first = await start();
    await appendRest(builder);
    await world.settled();
    await first.runner.close();
    const { pool } = world.database;
    await pool.query(`delete from log_records where "offset" < 2 and partition_id in
      (select partition_id from log_partitions join log_topics using (topic_id) where topic = 'trees')`);
    await pool.query("update cursors set next_offset = 0 where projection = 'rewards'");
    const { reports } = await start({ log: forgetful(world.log) });
    recordMore(builder);
    await appendRest(builder);
    await until(() => reports.some(({ kind }) => kind === 'stopped'));
    const stops = reports.filter((report) => report.kind === 'stopped');
    expect(stops).toEqual([
      {
        kind: 'stopped',
        projection: 'rewards',
        reason: expect.stringMatching(/^the log no longer holds trees\.\d from 0 to 2$/),
      },
    ]);
    await until(async () => (await world.database.db.selectFrom('rollouts').select('rolloutId').execute()).length === 4);
    expect(await stateOf('rewards')).toMatchObject({ state: 'stopped' });
    expect(await stateOf('step-tree')).toMatchObject({ state: 'running' });
  });
});

/** A log that reports, as Kafka does, the first offset that it still holds. */
function forgetful(log: EventLog): EventLog {
  return {
    ...log,
    subscribe: (options) =>
      log.subscribe({
        ...options,
        handle: (batch, signal) => options.handle({ ...batch, from: batch.records[0]?.offset ?? batch.from }, signal),
      }),
  };
}

/** Copies a database as a restored backup would be. Nobody may be connected to the one that is copied. */
async function copyOf({ url, database }: TestWorld): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `${new URL(url).pathname.slice(1)}_backup`;
  const other = new URL(url);
  other.pathname = `/${name}`;
  const server = new URL(url);
  server.pathname = '/postgres';
  const run = async (statement: string) => {
    const client = await connect(server.toString());
    await client.query(statement).finally(() => client.end());
  };
  const original = new URL(url).pathname.slice(1);
  void database; // its idle connections are ended by the server; the pool makes new ones
  await run(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${original}' and pid <> pg_backend_pid()`);
  await until(async () => {
    try {
      await run(`create database ${name} template ${original}`);
      return true;
    } catch (error) {
      if ((error as { code?: string }).code === '55006') return false; // somebody is still leaving
      throw error;
    }
  });
  return { url: other.toString(), drop: () => run(`drop database if exists ${name} with (force)`) };
}

describe('a lost connection to the database', () => {
  test('an outage is waited out, and nothing is lost, folded twice or stopped', async () => {
    const proxy = await startCuttableProxy(world.url);
    const far = await openDatabase(proxy.url, { connectMs: 500 });
    try {
      const builder = new EventBuilder('cut');
      const { reports } = await start({ database: far });
      recordMore(builder);
      await appendRest(builder);
      await world.settled();
      for (let cut = 0; cut < 3; cut++) {
        proxy.cut();
        const retries = () => reports.filter(({ kind }) => kind === 'retrying').length;
        const before = retries();
        recordMore(builder);
        await appendRest(builder);
        await until(() => retries() > before);
        proxy.restore();
        await world.settled();
      }
      expect(reports.filter(({ kind }) => kind === 'stopped' || kind === 'quarantined')).toEqual([]);
      expect(await readModels(world.database.db, OF_ITS_LOG)).toEqual(await undisturbed(builder));
    } finally {
      await runners.pop()?.close();
      await far.close();
      await proxy.close();
    }
  });
});

describe('two runners of one group', () => {
  test('two runners share the partitions, and the remaining one takes over those of the other', async () => {
    const builder = overBothPartitions();
    const other = await openEmbeddedLog({ url: world.url });
    try {
      const one = await start();
      const two = await start({ log: other });
      const folded = ({ reports }: typeof one) => reports.reduce((sum, r) => sum + (r.kind === 'projected' ? r.events : 0), 0);
      await until(async () => {
        recordMore(builder);
        await appendRest(builder);
        await world.settled();
        return folded(one) > 0 && folded(two) > 0;
      }, LIMIT_MS);
      // Reports come a moment after the commit that moves the cursor. A member that the machine kept from its heartbeat for
      // the time of its lease is replaced, and what it was at is handed over, and reported, once more.
      await until(() => folded(one) + folded(two) >= builder.events.length, LIMIT_MS);
      await two.runner.close();
      const [before, ofTheOther] = [folded(one), folded(two)];
      for (let i = 0; i < 3; i++) {
        recordMore(builder);
        await appendRest(builder);
      }
      await world.settled();
      await until(() => folded(one) - before >= 3 * 2 * 6, LIMIT_MS); // three walks in two trees of six events each
      expect(folded(two)).toBe(ofTheOther);
      expect(await world.database.db.selectFrom('anomalies').selectAll().execute()).toEqual([]);
      expect(await readModels(world.database.db, OF_ITS_LOG)).toEqual(await undisturbed(builder));
    } finally {
      await other.close();
    }
  });
});
