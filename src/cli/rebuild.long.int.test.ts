import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { prepareEvents } from '../append/prepare-events.ts';
import { TOPICS } from '../events/catalogue.ts';
import { DEFAULT_STAMP } from '../events/envelope.ts';
import { openBuild } from '../projections/rebuild/open-build.ts';
import { projections } from '../projections/registry.ts';
import { runProjections } from '../projections/runner.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { EventBuilder } from '../testing/event-builder.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { until } from '../testing/until.ts';
import { killRunning, startProcess } from '../testing/worker-process.ts';

let platform: Awaited<ReturnType<typeof openTestPlatform>>;
beforeEach(async () => {
  platform = await openTestPlatform();
});
afterEach(async () => {
  await killRunning();
  await platform.close();
});

/** Eight trees, spread over the partitions, with a walk in each. */
async function givenTrees(): Promise<void> {
  const { log, database, blobs } = platform;
  const builder = new EventBuilder('rebuilt');
  const runId = builder.run();
  for (let t = 0; t < 8; t++) builder.walk(builder.tree(runId, `tree ${t}`), 0, 4, 1);
  await log.append(await prepareEvents(builder.events, blobs, DEFAULT_STAMP));
  const runner = await runProjections({ log, database });
  await waitUntilProjected(database.db, await log.ends(TOPICS), { timeoutMs: 20_000 });
  await runner.close();
}

function rebuild(...flags: string[]) {
  return startProcess('src/cli/main.ts', ['rebuild', 'step-tree', ...flags], environmentOf(platform));
}

async function status() {
  const asked = startProcess('src/cli/main.ts', ['status', '--json'], environmentOf(platform));
  expect(await asked.ended).toBe(0);
  return JSON.parse(asked.stdout());
}

test('a rebuild killed midway resumes, takes over, swaps back and is retired', async () => {
  await givenTrees();
  const { db } = platform.database;
  const stepTree = projections.find(({ name }) => name === 'step-tree');
  if (!stepTree) throw new Error('there is a projection step-tree');
  const build = await openBuild(platform.database, platform.log, stepTree);
  const folded = async () => {
    const rows = await db.selectFrom('cursors').select('nextOffset').where('projection', '=', build.shadow.name).execute();
    return rows.filter(({ nextOffset }) => nextOffset > 0).length;
  };
  // One partition is held, so that the process is in the middle when it is killed.
  const holding = await db.startTransaction().execute();
  await sql`
    select from cursors b where b.projection = ${build.shadow.name} and (b.topic, b.partition) in (
      select topic, partition from cursors where projection = 'step-tree' and topic = 'trees' and next_offset > 0 order by partition desc limit 1
    ) for update`.execute(holding);
  const first = rebuild();
  try {
    await until(async () => (await folded()) > 0 && (await status()).builds[0]?.progress?.done > 0);
    first.kill('SIGKILL');
    expect(await first.ended).toBe('SIGKILL');
  } catch (error) {
    throw new Error(`never in the middle: ${first.stdout()} ${first.stderr()}`, { cause: error });
  } finally {
    await holding.rollback().execute();
  }

  const [unfinished] = (await status()).builds;
  expect(unfinished).toMatchObject({
    projection: 'step-tree',
    version: 3,
    build: 2,
    schema: 'step_tree_v3_b2',
    state: 'building',
    progress: { of: expect.any(Number), rate: expect.any(Number) },
  });

  const second = rebuild();
  expect([await second.ended, second.stderr()]).toEqual([0, expect.any(String)]);
  expect(second.stdout().split('\n')).toEqual([
    // the trees lie in three partitions, by their ids
    ...[
      'divergences: 0',
      'judgements: 0',
      'revisions: 0',
      'rollouts: 8',
      'run_counts: 3',
      'steps: 40',
      'tool_calls: 0',
      'trees: 8',
    ].map((table) => `${table} rows, equal by checksum`),
    'step-tree is live from step_tree_v3_b2; step_tree_v3 is kept: --back returns to it, --retire drops it',
    '',
  ]);
  const { projections: live, builds } = await status();
  expect(live).toContainEqual(expect.objectContaining({ name: 'step-tree', version: 3, build: 2, state: 'running' }));
  expect(builds).toEqual([
    expect.objectContaining({ version: 3, build: 1, schema: 'step_tree_v3', state: 'kept', progress: null }),
  ]);
  const back = rebuild('--back', '--json');
  expect([await back.ended, back.stdout()]).toEqual([
    0,
    '{"kind":"swapped","from":{"version":3,"build":2},"to":{"version":3,"build":1}}\n',
  ]);
  const retired = rebuild('--retire');
  expect([await retired.ended, retired.stdout()]).toEqual([0, 'dropped step_tree_v3_b2\n']);
});

test('a rebuild of a stopped projection says so, with the reason', async () => {
  await givenTrees();
  const { db } = platform.database;
  await db.updateTable('projections').set({ state: 'stopped', reason: 'a bug' }).where('name', '=', 'step-tree').execute();
  const rebuilt = rebuild();
  expect([await rebuilt.ended, rebuilt.stdout().split('\n').at(-2)]).toEqual([
    0,
    'step-tree was stopped: a bug; what follows in the log is in neither version; start the projector again (`espalier up`)',
  ]);
});

test('a swap back that is killed midway leaves the version to swap back to', async () => {
  await givenTrees();
  const { db } = platform.database;
  expect(await rebuild().ended).toBe(0);
  const reader = await db.startTransaction().setIsolationLevel('repeatable read').execute();
  await sql`select 1`.execute(reader); // nothing is swapped while it is open
  try {
    const killed = rebuild('--back');
    const recorded = () => db.selectFrom('projectionBuilds').select('toldAt').executeTakeFirst();
    await until(async () => (await recorded())?.toldAt != null);
    killed.kill('SIGKILL');
    expect(await killed.ended).toBe('SIGKILL');
  } finally {
    await reader.rollback().execute();
  }
  expect((await status()).builds).toEqual([expect.objectContaining({ version: 3, build: 1, state: 'kept', progress: null })]);
  const back = rebuild('--back', '--json');
  expect([await back.ended, back.stdout()]).toEqual([
    0,
    '{"kind":"swapped","from":{"version":3,"build":2},"to":{"version":3,"build":1}}\n',
  ]);
});

test.each([
  [['--back', '--retire'], `option '--back' cannot be used with option '--retire'`],
  [['--back', '--repair'], `option '--back' cannot be used with option '--repair'`],
  [['--to', '1', '--back'], `option '--back' cannot be used with option '--to <version>'`],
  [['--repair', '--retire'], `option '--retire' cannot be used with option '--repair'`],
  [['--retire', '--to', '1'], `option '--retire' cannot be used with option '--to <version>'`],
])('a rebuild with %j is a usage error, and neither drops nor swaps anything', async (flags, message) => {
  const stepTree = projections.find(({ name }) => name === 'step-tree');
  if (!stepTree) throw new Error('there is a projection step-tree');
  const { version } = await openBuild(platform.database, platform.log, stepTree);
  const refused = rebuild(...flags);
  expect([await refused.ended, refused.stdout()]).toEqual([2, '']);
  expect(refused.stderr()).toContain(`error: ${message}\n`);
  const buildRows = await platform.database.db.selectFrom('projectionBuilds').select(['version', 'state']).execute();
  expect(buildRows).toEqual([{ version, state: 'building' }]);
});

test('a replay of projections exits with 1 where a table differs, names the row, and is recorded at the run', async () => {
  await givenTrees();
  const { db } = platform.database;
  const [run] = await db.selectFrom('runs').select('runId').execute();
  if (!run) throw new Error('a run was recorded');
  const replay = (...flags: string[]) =>
    startProcess('src/cli/main.ts', ['replay', 'projections', ...flags], environmentOf(platform));
  const equal = replay('--name', 'step-tree', 'runs', '--run', run.runId);
  expect([await equal.ended, equal.stdout().split('\n').at(-2)]).toEqual([0, 'equal: projections, 12 compared']);
  const recorded = await db.selectFrom('replays').select(['runId', 'mode', 'outcome', 'compared']).execute();
  expect(recorded).toEqual([{ runId: run.runId, mode: 'projections', outcome: 'equal', compared: 12 }]);

  const step = await db
    .selectFrom('steps')
    .select(['stepId', 'treeId'])
    .where('depth', '=', 3)
    .orderBy('stepId')
    .executeTakeFirstOrThrow();
  await sql`update step_tree_v3.steps set observation = 'forged' where step_id = ${step.stepId}`.execute(db);
  const differs = replay('--name', 'step-tree');
  expect(await differs.ended).toBe(1);
  expect(differs.stdout()).toContain(
    `differs at step ${step.stepId}, steps ${step.stepId} ${step.treeId}, observation: recorded "forged", replayed "Inventory: You are not carrying anything."\n`,
  );
});
