import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { environmentOf } from '../testing/crashing-run.ts';
import { type CuttableProxy, startCuttableProxy } from '../testing/cuttable-proxy.ts';
import { useTestPlatform } from '../testing/use-test-platform.ts';
import { killRunning, startProcess } from '../testing/worker-process.ts';

const platform = useTestPlatform({ opened: 'before-each', projector: 'none' });
let proxy: CuttableProxy;
let env: Readonly<Record<string, string>>;
beforeEach(async () => {
  proxy = await startCuttableProxy(platform.databaseUrl);
  env = { ...environmentOf(platform), DATABASE_URL: proxy.url, ESPALIER_PORT: '0' };
});
afterEach(async () => {
  await killRunning();
  await proxy.close();
});

const WAITS = /the start waits for what is unreachable.*cannot reach Postgres/;

test('a server that starts while the database is away serves when it is back', async () => {
  proxy.cut();
  const worker = startProcess('workers/relay.ts', [], env);
  const all = startProcess('src/cli/main.ts', ['--json', 'up'], env);
  await worker.saying(WAITS);
  await all.saying(WAITS);
  proxy.restore();
  await worker.saying(/"message":"relaying"/);
  await all.printing(/"state":"serving"/, 60_000);
  for (const child of [worker, all]) {
    child.kill('SIGTERM');
    expect(await child.ended).toBe(0);
  }
});

test('a server that waits for the database ends when it is stopped, and one whose login is refused ends with the reason', async () => {
  proxy.cut();
  const waiting = startProcess('workers/project.ts', [], env);
  await waiting.saying(WAITS);
  waiting.kill('SIGTERM');
  expect(await waiting.ended).toBe(0);
  const stranger = new URL(platform.databaseUrl);
  stranger.username = 'stranger';
  const refused = startProcess('workers/project.ts', [], { ...env, DATABASE_URL: stranger.toString() });
  expect(await refused.ended).toBe(1);
  expect(refused.stderr()).toMatch(/cannot reach Postgres at .*stranger/);
});
