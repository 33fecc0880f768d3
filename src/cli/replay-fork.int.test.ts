import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newId } from '../events/new-id.ts';
import type { Subscription } from '../log/event-log.ts';
import type { Platform } from '../platform/open-platform.ts';
import { readReplays } from '../projections/replays/read-replays.ts';
import { runProjections } from '../projections/runner.ts';
import { environmentOf, settle } from '../testing/crashing-run.ts';
import { holdAppends } from '../testing/hold-appends.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { killRunning, runEspalier, startProcess } from '../testing/worker-process.ts';

let platform: Platform & { readonly home: string };
let projector: Subscription;
let env: Readonly<Record<string, string>>;
const origin = newId();
let from: string;
beforeAll(async () => {
  platform = await openTestPlatform();
  env = environmentOf(platform);
  projector = await runProjections({ log: platform.log, database: platform.database });
  const args = ['collect', '--tasks', '90', '--rollouts', '1', '--policy', 'random', '--max-steps', '12', '--run', origin];
  const collected = await runEspalier(args, env);
  if (collected.code !== 0) throw new Error(collected.stderr);
  await settle(platform);
  from = (
    await platform.database.db
      .selectFrom('steps')
      .select('stepId')
      .where('depth', '=', 3)
      .where('termination', '=', 'none')
      .executeTakeFirstOrThrow()
  ).stepId;
});
afterAll(async () => {
  await killRunning();
  await projector.close();
  await platform.close();
});

const ROLLOUTS = 25;
const forkArgs = (run: string) => [
  'replay',
  'fork',
  '--from',
  from,
  '--policy',
  'planner:0.2',
  '--rollouts',
  String(ROLLOUTS),
  '--run',
  run,
];

/** What was done in a run, whatever its ids: by rollout and depth. */
async function done(run: string) {
  await settle(platform);
  return platform.database.db
    .selectFrom('steps as s')
    .innerJoin('trees as t', 't.treeId', 's.treeId')
    .leftJoin('rollouts as o', 'o.rolloutId', 's.rolloutId')
    .select(['o.ordinal', 's.depth', 's.action', 's.observation', 's.termination', 'o.outcome', 'o.success'])
    .where('t.runId', '=', run)
    .orderBy('o.ordinal')
    .orderBy('s.depth')
    .execute();
}

describe('espalier replay fork', () => {
  test('a fork killed with -9 resumes with --run and reaches the rollouts of an undisturbed one', async () => {
    const undisturbed = newId();
    const { code, stdout } = await runEspalier(forkArgs(undisturbed), env);
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^equal: fork, 4 steps compared\nrun [0-9a-f-]{36} completed: 25 rollouts, \d+ steps, \d+ succeeded\n$/,
    );

    const killed = newId();
    const { db, pool } = platform.database;
    // At its second step of the way, before the way is done; among the first rollouts; far into them.
    for (const more of [4, 15, 60]) {
      const { rows } = await pool.query<{ records: string }>('select count(*) as records from log_records');
      const appends = await holdAppends(platform, Number(rows[0]?.records) + more);
      const child = startProcess('src/cli/main.ts', forkArgs(killed), env);
      await appends.held();
      child.kill('SIGKILL');
      expect(await child.ended).toBe('SIGKILL');
      await appends.release();
    }
    await settle(platform);
    const cut = await db.selectFrom('runs').select('finishedAt').where('runId', '=', killed).executeTakeFirstOrThrow();
    expect(cut.finishedAt).toBeNull();

    const resumed = await runEspalier(['replay', 'fork', '--run', killed], env);
    expect(resumed).toMatchObject({ code: 0, stdout: expect.stringMatching(/^equal: fork, 4 steps compared\n/) });
    expect(await done(killed)).toEqual(await done(undisturbed));
    const replays = await readReplays(db, [origin]);
    expect(replays.map(({ mode, outcome, parameters }) => [mode, outcome, (parameters as { run: string }).run])).toEqual([
      ['fork', 'equal', undisturbed],
      ['fork', 'equal', killed],
    ]);
    expect(await db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
  });

  test('a fork without a step, or with the id of a run that is not a fork, is refused with the remedy', async () => {
    expect(await runEspalier(['replay', 'fork'], env)).toMatchObject({ code: 1, stderr: expect.stringContaining('--from') });
    const other = await runEspalier(['replay', 'fork', '--run', origin], env);
    expect(other).toMatchObject({ code: 1, stderr: expect.stringContaining('not one that `replay fork` began') });
  });
});
