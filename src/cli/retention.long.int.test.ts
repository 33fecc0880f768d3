import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
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

async function espalier(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runInProcess(args, environmentOf(platform));
  return code === 0 ? stdout : stderr;
}

test('what is older than its project keeps it is forgotten, the rest is kept, and what lies in the clear is named', async () => {
  const collect = ['collect', '--tasks', '1', '--rollouts', '2', '--policy', 'planner:0.3'];
  await espalier(...collect, '--name', 'clear');
  expect(await espalier('retention', 'list')).toBe('no project says after how many days its payload is forgotten: it is kept\n');
  expect(await espalier('retention', 'set', '--days', '30')).toContain('payload of default is not sealed');
  await espalier('seal', 'on');
  await espalier(...collect, '--name', 'old');
  const { db } = platform.database;
  for (const table of ['events', 'log_records']) // the log's word and what the journal read of it
    await sql`update ${sql.table(table)} set received_at = received_at - interval '40 days'`.execute(db);
  await espalier(...collect, '--name', 'new');

  expect(await espalier('retention', 'run', '--dry-run')).toMatch(
    /default: 1 runs ended more than 30.*\n\d+ events.*\nnothing was changed\n/,
  );
  expect(await espalier('retention', 'run')).toMatch(
    /default: 1 runs ended more than 30 days ago\n\d+ events of older runs lie in the clear and cannot be forgotten\nforgotten: 1 runs, 2 keys are destroyed/,
  );
  const { rows } = await sql<{ name: string; forgotten: boolean }>`
    select distinct r.name, s.observation = '[forgotten]' as forgotten
    from runs r join trees t using (run_id) join steps s using (tree_id) order by 1, 2`.execute(db);
  expect(rows).toEqual([
    { name: 'clear', forgotten: false },
    { name: 'new', forgotten: false },
    { name: 'old', forgotten: true },
  ]);
  expect(await espalier('verify')).toContain('intact');
  expect(JSON.parse(await espalier('retention', 'run', '--json'))).toMatchObject({
    due: [{ project: 'default', days: 30, runs: [], clear: [expect.any(String)] }],
    forgotten: { runs: 0, keys: 0, blobs: 0 },
  });
  expect(await espalier('retention', 'set', '--keep')).toBe('default: payload is kept\n');
  expect(await espalier('retention', 'set')).toContain('say by one of --days and --keep');
});
