import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { environmentOf } from '../testing/crashing-run.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { killRunning, runEspalier } from '../testing/worker-process.ts';

let platform: Awaited<ReturnType<typeof openTestPlatform>>;
beforeAll(async () => {
  platform = await openTestPlatform();
});
afterAll(async () => {
  await killRunning();
  await platform.close();
});

async function indexed(...flags: readonly string[]) {
  const { code, stdout, stderr } = await runEspalier(['--json', 'index', ...flags], environmentOf(platform));
  return code === 0 ? JSON.parse(stdout) : [code, stderr];
}

async function isValid(): Promise<boolean | null> {
  const { rows } = await platform.database.pool.query<{ indisvalid: boolean }>(
    "select indisvalid from pg_index where indexrelid = to_regclass('step_tree_v3.steps_action')",
  );
  return rows[0]?.indisvalid ?? null;
}

test('espalier index --actions builds the index of actions once, builds one again that was left broken, and --drop-actions drops it', async () => {
  expect(await isValid()).toBeNull();
  const { built, dropped } = await indexed('--actions');
  expect([built, dropped, await isValid()]).toEqual([['steps_action'], [], true]);
  expect((await indexed('--actions')).built).toEqual([]);
  await platform.database.pool.query(
    "update pg_index set indisvalid = false where indexrelid = 'step_tree_v3.steps_action'::regclass",
  );
  expect((await indexed('--actions')).built).toEqual(['steps_action']);
  expect(await isValid()).toBe(true);
  expect((await indexed()).built).toEqual([]); // without the flag it is neither built nor missed
  expect((await indexed('--drop-actions')).dropped).toEqual(['steps_action']);
  expect((await indexed('--drop-actions')).dropped).toEqual([]);
  expect(await isValid()).toBeNull();
});

test('an index that is to be built and dropped at once is refused, with what to give', async () => {
  expect(await indexed('--actions', '--drop-actions')).toEqual([
    1,
    'espalier: --actions builds what --drop-actions drops; give one of them\n',
  ]);
});
