import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Platform } from '../platform/open-platform.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { killRunning, runInProcess } from '../testing/worker-process.ts';

let platform: Platform & { readonly home: string };
beforeAll(async () => {
  platform = await openTestPlatform();
});
afterAll(async () => {
  await killRunning();
  await platform.close();
});

const espalier = (...args: string[]) => runInProcess(args, environmentOf(platform));

describe('espalier forget', () => {
  test('a collected run is forgotten after it is confirmed; verify stays intact, and its export is refused', async () => {
    expect((await espalier('seal', 'on')).code).toBe(0);
    expect((await espalier('collect', '--tasks', '2', '--rollouts', '2', '--policy', 'planner:0.3')).code).toBe(0);
    const { db } = platform.database;
    const { runId } = await db.selectFrom('runs').select('runId').executeTakeFirstOrThrow();
    const counts = async () => [
      await db
        .selectFrom('steps')
        .select(({ fn }) => fn.countAll().as('n'))
        .executeTakeFirstOrThrow(),
      await db.selectFrom('returns').selectAll().orderBy('rolloutId').execute(),
    ];
    const before = await counts();

    expect((await espalier('forget', '--run', runId)).stderr).toContain('--reason is missing');
    const unsaid = await espalier('forget', '--run', runId, '--reason', 'asked for');
    expect([unsaid.code, unsaid.stderr]).toEqual([1, expect.stringContaining('say --yes')]);
    expect((await espalier('forget', '--run', runId, '--dry-run')).stdout).toContain('nothing was changed');
    const done = await espalier('forget', '--run', runId, '--reason', 'asked for', '--yes');
    expect([done.code, done.stdout]).toEqual([0, expect.stringContaining('forgotten: 3 keys are destroyed')]);
    expect((await espalier('forget', '--run', runId, '--reason', 'asked for', '--yes')).stdout).toContain(
      'nothing is left to forget',
    );

    expect(await counts()).toEqual(before);
    const texts = await db.selectFrom('steps').select(['observation', 'response']).execute();
    expect(new Set(texts.flatMap(({ observation, response }) => [observation, response]))).toEqual(new Set(['[forgotten]', '']));
    expect((await espalier('verify')).code).toBe(0);
    const refused = await espalier('export', '--format', 'sharegpt', '--out', join(platform.home, 'out.json'));
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringContaining('the payload of 4 of the 4 trajectories is forgotten'),
    ]);
  });
});
