import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { Subscription } from '../../log/event-log.ts';
import { topicsOf } from '../../projections/concerns.ts';
import type { Projection } from '../../projections/projection.ts';
import { type Build, RebuildLost } from '../../projections/rebuild/build.ts';
import { compareBuild } from '../../projections/rebuild/compare-build.ts';
import { dropBuild, dropOwn, openBuild, reopenKeptVersion } from '../../projections/rebuild/open-build.ts';
import { readBuilds } from '../../projections/rebuild/read-builds.ts';
import { withNewBuild } from '../../projections/rebuild/with-new-build.ts';
import { projections } from '../../projections/registry.ts';
import { runProjections } from '../../projections/runner.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { openTestWorld, type TestWorld } from '../../testing/open-test-log.ts';
import { readModels } from '../../testing/read-models.ts';
import { until } from '../../testing/until.ts';
import { replayProjections } from '../replay/replay-projections.ts';
import { NoKeptVersion, rebuildProjection, retireVersions, swapBack } from './rebuild-projection.ts';

let world: TestWorld;
const runners: Subscription[] = [];
const quiet = { signal: new AbortController().signal, progress: () => undefined, limitMs: 30_000 };
const strict = { ...quiet, differing: 'refuse' } as const;
beforeEach(async () => {
  world = await openTestWorld();
});
afterEach(async () => {
  for (const runner of runners.splice(0)) await runner.close();
  await world.close();
});

const stepTree = registered('step-tree');
function registered(name: string): Projection {
  const found = projections.find((projection) => projection.name === name);
  if (!found) throw new Error(`there is no projection ${name}`);
  return found;
}

async function project(chosen: readonly Projection[] = projections): Promise<Subscription> {
  const runner = await runProjections({ log: world.log, database: world.database, projections: chosen });
  runners.push(runner);
  return runner;
}

/** Records walks in two trees that end in rewards of a value; each call records and appends one more in each. */
function teller(value = 1): () => Promise<void> {
  const builder = new EventBuilder('rebuilt');
  const runId = builder.run();
  const trees = ['a', 'b'].map((name) => builder.tree(runId, name));
  let appended = 0;
  let ordinal = 0;
  return async () => {
    for (const tree of trees) builder.walk(tree, ordinal, 3, value);
    ordinal++;
    await world.append(builder.events.slice(appended));
    appended = builder.events.length;
  };
}

async function settled(projection: Projection): Promise<void> {
  const ends = await world.log.ends(topicsOf(projection));
  await waitUntilProjected(world.database.db, ends, { timeoutMs: 15_000, projections: [projection] });
}

async function liveVersion(name: string): Promise<number | undefined> {
  const { db } = world.database;
  return (await db.selectFrom('projections').select('version').where('name', '=', name).executeTakeFirst())?.version;
}

async function schemasOf(prefix: string): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select nspname::text as name from pg_namespace where starts_with(nspname, ${prefix}) order by 1`.execute(world.database.db);
  return rows.map(({ name }) => name);
}

describe('rebuilds', () => {
  test('a rebuild takes over with equal tables, folds further, swaps back after catching up, and retires the other build', async () => {
    const record = teller();
    await record();
    await project();
    await world.settled();
    const before = await readModels(world.database.db);
    expect(await rebuildProjection(world, stepTree, strict)).toMatchObject({ kind: 'swapped', from: 3, to: 1_000_003 });
    expect(await liveVersion('step-tree')).toBe(1_000_003);

    await record(); // the projector that runs since before the swap folds into what is live now
    await world.settled();
    expect(await countSteps()).toBe(14);
    const { rows } = await sql<{ old: number }>`select count(*)::int as old from step_tree_v3.steps`.execute(world.database.db);
    expect(rows[0]?.old).toBe(8);
    // of the schema that was retired: nobody wrote to it
    expect((await readModels(world.database.db)).steps).toEqual(before.steps);

    expect(await swapBack(world, stepTree, quiet)).toEqual({ from: 1_000_003, to: 3 });
    await record();
    await world.settled();
    expect(await countSteps()).toBe(20);
    expect(await retireVersions(world, stepTree)).toEqual([1_000_003]);
    expect(await schemasOf('step_tree_v')).toEqual(['step_tree_v3']);
    await expect(swapBack(world, stepTree, quiet)).rejects.toThrow(NoKeptVersion);
  });

  test('a rebuild of the same code with other rows names them and takes over only on request', async () => {
    const record = teller();
    await record();
    await project();
    await world.settled();
    await sql`update step_tree_v3.steps set action = 'forged' where depth = 2`.execute(world.database.db);
    const refused = await rebuildProjection(world, stepTree, strict);
    expect(refused).toMatchObject({ kind: 'differs', build: 1_000_003 });
    expect(refused.comparison?.differences).toMatchObject([
      { table: 'steps', field: 'action', live: 'forged', anew: 'inventory' },
      { table: 'steps', field: 'action', live: 'forged', anew: 'inventory' },
    ]);
    expect(await liveVersion('step-tree')).toBe(3);
    expect(await rebuildProjection(world, stepTree, { ...quiet, differing: 'accept' })).toMatchObject({
      kind: 'swapped',
      from: 3,
      to: 1_000_003, // the earlier build, not a third one
    });
    const forged = await world.database.db.selectFrom('steps').select('stepId').where('action', '=', 'forged').execute();
    expect(forged).toEqual([]);
  });

  const forgeries = [
    {
      what: 'a value that JSON does not distinguish',
      name: 'rewards',
      forge: `update rewards_v4.rewards set value = '-0'`,
      difference: { table: 'rewards', field: 'value', live: '-0', anew: '0' },
    },
    {
      what: 'an empty column only in what is live',
      name: 'step-tree',
      forge: 'alter table step_tree_v3.trees add column extra text',
      difference: { table: 'trees', field: 'extra', live: null, anew: 'no such column' },
    },
    {
      what: 'a column that what is live lacks',
      name: 'step-tree',
      forge: 'alter table step_tree_v3.trees drop column task_depth cascade',
      difference: { table: 'trees', field: 'task_depth', live: 'no such column' },
    },
    {
      what: 'a table only in what is live',
      name: 'step-tree',
      forge: 'create table step_tree_v3.extra (id int primary key)',
      difference: { table: 'extra', key: {}, field: '', live: 'a table', anew: 'no such table' },
    },
    {
      what: 'a table that what is live lacks',
      name: 'step-tree',
      forge: 'drop table step_tree_v3.tool_calls cascade',
      difference: { table: 'tool_calls', key: {}, field: '', live: 'no such table', anew: 'a table' },
    },
    {
      what: 'a key of another type',
      name: 'runs',
      forge: `drop view public.runs; alter table runs_v2.runs alter column run_id type text, alter column name type text using name || ' forged'`,
      difference: { table: 'runs', key: {}, field: 'run_id', live: 'text', anew: 'uuid' },
    },
    {
      what: 'columns in another order, of which no row is to be named',
      name: 'step-tree',
      forge: `alter table step_tree_v3.trees rename goal to was; alter table step_tree_v3.trees add column goal text;
              update step_tree_v3.trees set goal = was; alter table step_tree_v3.trees drop column was cascade`,
      difference: undefined,
    },
  ];
  test.each(forgeries)(
    'a rebuild that differs by $what does not take over by itself, and names the place',
    async ({ name, forge, difference }) => {
      await teller(0)();
      await project();
      await world.settled();
      await sql.raw(forge).execute(world.database.db);
      const refused = await rebuildProjection(world, registered(name), strict);
      expect(refused.kind).toBe('differs');
      const [first] = refused.comparison?.differences ?? [];
      if (difference) expect(first).toMatchObject(difference);
      else expect(first).toBeUndefined();
      expect(await liveVersion(name)).toBe(registered(name).version);
    },
  );

  test('a rebuild whose build another process dropped and began again is lost, and touches nothing of the other', async () => {
    const record = teller();
    await record();
    await project();
    await world.settled();
    const { db } = world.database;
    const opened: Build[] = [];
    const rebuilding = withNewBuild(world, stepTree, quiet, async (build) => {
      opened.push(build);
      await dropBuild(db, stepTree, build.version);
      opened.push(await openBuild(world.database, world.log, stepTree)); // empty
      return compareBuild(world.database, build, quiet);
    });
    await expect(rebuilding).rejects.toThrow(RebuildLost);
    const [first, second] = opened as [Build, Build];
    expect(second.version).toBe(first.version);
    await expect(dropOwn(db, first)).rejects.toThrow(RebuildLost);
    expect(await readBuilds(db)).toMatchObject([{ build: 2, state: 'building' }]);
    const moved = await db.selectFrom('cursors').select('nextOffset').where('projection', '=', second.shadow.name).execute();
    expect(moved.every(({ nextOffset }) => nextOffset === 0)).toBe(true);
    expect(await rebuildProjection(world, stepTree, strict)).toMatchObject({ kind: 'swapped' });
  });

  test('a swap back that is interrupted leaves the version to swap back to, which never counts as a build', async () => {
    const record = teller();
    await record();
    await project();
    await world.settled();
    const { db } = world.database;
    await sql`update step_tree_v3.steps set action = 'forged' where depth = 2`.execute(db);
    await rebuildProjection(world, stepTree, { ...quiet, differing: 'accept' });
    // a process that is killed from here on writes nothing but rows and cursors
    await reopenKeptVersion(world.database, world.log, stepTree, 1);
    expect(await readBuilds(db)).toMatchObject([{ build: 1, state: 'kept', progress: null }]);
    expect(await db.selectFrom('projectionBuilds').select('digest').execute()).toEqual([{ digest: 'unknown' }]);

    const { report } = await replayProjections(world, [stepTree], quiet);
    expect(report).toMatchObject({ outcome: 'equal', differing: 0 });
    expect(await rebuildProjection(world, stepTree, strict)).toMatchObject({ from: 1_000_003, to: 2_000_003 });
    expect(await readBuilds(db)).toMatchObject([{ build: 2 }, { build: 1 }]);
    await reopenKeptVersion(world.database, world.log, stepTree, 1_000_003);
    expect(await swapBack(world, stepTree, quiet)).toEqual({ from: 2_000_003, to: 1_000_003 });
    await reopenKeptVersion(world.database, world.log, stepTree, 2_000_003);
    expect(await retireVersions(world, stepTree)).toEqual([2_000_003, 3]);
  });

  test('a swap back includes a partition that was created while the version was kept', async () => {
    const record = teller();
    await record();
    await project();
    await world.settled();
    await rebuildProjection(world, stepTree, strict);
    const met = await sql`delete from cursors where projection = 'step-tree@3' and topic = 'trees' and next_offset > 0`.execute(
      world.database.db,
    ); // as if it had met none of them
    expect(met.numAffectedRows).toBeGreaterThan(0n);
    expect(await swapBack(world, stepTree, quiet)).toEqual({ from: 1_000_003, to: 3 });
    await record();
    await world.settled();
    expect(await countSteps()).toBe(14);
  });

  test('a rebuild to newer code is folded next to the older version, whose projectors then stop with the reason', async () => {
    const record = teller();
    await record();
    await project([stepTree]);
    await settled(stepTree);
    const newer = { ...stepTree, version: 4 };
    expect(await rebuildProjection(world, newer, strict)).toEqual({ kind: 'swapped', from: 3, to: 4, comparison: null });
    await record();
    const { db } = world.database;
    const reason = () =>
      db.selectFrom('projections').select(['state', 'reason']).where('name', '=', 'step-tree').executeTakeFirst();
    await until(async () => (await reason())?.state === 'stopped');
    expect((await reason())?.reason).toBe(
      'version 4 of step-tree is live and this code folds version 3: `espalier rebuild step-tree` builds it next to the live one and swaps',
    );
    for (const runner of runners.splice(0)) await runner.close();
    await project([newer]);
    await settled(newer);
    expect(await countSteps()).toBe(14);
    expect(await reason()).toEqual({ state: 'running', reason: null });
  });
});

async function countSteps(): Promise<number> {
  const { rows } = await sql<{ steps: number }>`select count(*)::int as steps from steps`.execute(world.database.db);
  return rows[0]?.steps ?? 0;
}

describe('readers during writes and swaps', () => {
  test('readers meet no error, never regress in time, and see in one snapshot exactly what its cursors state', async () => {
    const record = teller();
    await record();
    await project();
    await world.settled();
    let reading = true;
    const seen = { counts: 0, prepared: 0, snapshots: 0 };
    const write = async () => {
      for (; reading; await world.settled()) await record(); // as fast as the projector
    };
    const count = async () => {
      for (let last = 0; reading; seen.counts++) {
        const steps = await countSteps();
        if (steps < last) throw new Error(`steps regressed from ${last} to ${steps}`);
        last = steps;
      }
    };
    const prepared = async () => {
      const client = await world.database.pool.connect();
      try {
        for (let last = 0; reading; seen.prepared++) {
          const statement = { name: 'deep', text: 'select * from steps where depth > $1', values: [0] };
          const { rowCount } = await client.query(statement);
          if ((rowCount ?? 0) < last) throw new Error(`steps regressed from ${last} to ${rowCount}`);
          last = rowCount ?? 0;
        }
      } finally {
        client.release();
      }
    };
    const snapshots = async () => {
      for (; reading; seen.snapshots++) await compareInSnapshot();
    };
    const busy = [write(), count(), prepared(), snapshots(), snapshots()];
    const failed = Promise.all(busy).then(() => new Promise<never>(() => undefined));
    const swaps = async () => {
      await rebuildProjection(world, stepTree, strict);
      await swapBack(world, stepTree, quiet);
    };
    try {
      await Promise.race([swaps(), failed]);
    } finally {
      reading = false;
      await Promise.all(busy);
    }
    await world.settled();
    await compareInSnapshot();
    expect(await liveVersion('step-tree')).toBe(3);
    expect(Math.min(seen.counts, seen.prepared, seen.snapshots)).toBeGreaterThan(3);
  });

  test('a reader with a snapshot from before the build keeps it, and the swap waits for the reader', async () => {
    await teller()();
    await project();
    await world.settled();
    const reader = await world.database.db.startTransaction().setIsolationLevel('repeatable read').execute();
    const shown = () => sql<{ steps: number }>`select count(*)::int as steps from steps`.execute(reader);
    await sql`select 1`.execute(reader);
    await expect(rebuildProjection(world, stepTree, { ...strict, limitMs: 1_000 })).rejects.toThrow(
      /a read that began before is still open/,
    );
    expect((await shown()).rows).toEqual([{ steps: 8 }]);
    await reader.commit().execute();
    expect(await rebuildProjection(world, stepTree, strict)).toMatchObject({ kind: 'swapped', to: 1_000_003 });
    expect(await countSteps()).toBe(8);
  });
});

/** In one snapshot: the steps that lie in the log below the cursors, counted first, and the rows of the view, looked at after. */
async function compareInSnapshot(): Promise<void> {
  await world.database.db
    .transaction()
    .setIsolationLevel('repeatable read')
    .execute(async (trx) => {
      const versionAndBuild = await sql<{ steps: number }>`
        select count(*)::int as steps
        from projections p join cursors c on c.projection = p.name and c.version = p.version
        join log_topics t on t.topic = c.topic join log_partitions n on n.topic_id = t.topic_id and n.partition = c.partition
        join log_records r on r.partition_id = n.partition_id and r."offset" < c.next_offset
        where p.name = 'step-tree' and convert_from(r.value, 'UTF8') similar to '%"type":"(StepTaken|TreeOpened)"%'`.execute(trx);
      const shown = await sql<{ steps: number }>`select count(*)::int as steps from steps`.execute(trx);
      if (versionAndBuild.rows[0]?.steps !== shown.rows[0]?.steps)
        throw new Error(`the cursors say ${versionAndBuild.rows[0]?.steps} steps, the view shows ${shown.rows[0]?.steps}`);
    });
}
