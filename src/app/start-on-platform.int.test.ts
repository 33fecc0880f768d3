import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { freePort } from '../runtime/free-port.ts';
import { environmentOf, plan, planRun } from '../testing/crashing-run.ts';
import { type CuttableProxy, startCuttableProxy } from '../testing/cuttable-proxy.ts';
import { until } from '../testing/until.ts';
import { useTestPlatform } from '../testing/use-test-platform.ts';
import { killRunning, startProcess, startRole } from '../testing/worker-process.ts';

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
  const worker = startRole('relay', env);
  const all = startProcess('src/cli/main.ts', ['--json', 'up'], { ...env, ESPALIER_PROBE_PORT: String(await freePort()) });
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

test('a worker says at its probe port that it lives, and is ready while its database answers and it does not stop', async () => {
  proxy.cut();
  const worker = startRole('api', { ...env, ESPALIER_PROBE_PORT: '0', ESPALIER_DRAIN_MS: '60000' });
  await worker.saying(/"message":"probes"/);
  const url = `http://127.0.0.1:${/"message":"probes".*"port":(\d+)/.exec(worker.stderr())?.[1]}`;
  const ask = async (path: string) => {
    const response = await fetch(`${url}${path}`);
    return [response.status, (await response.text()).trim().slice(0, 200)];
  };
  expect(await ask('/healthz')).toEqual([200, '{"alive":true}']);
  expect(await ask('/readyz')).toEqual([503, '{"ready":false,"reasons":["this process is starting"]}']);
  proxy.restore();
  await worker.saying(/"message":"serving"/);
  expect(await ask('/readyz')).toEqual([200, '{"ready":true,"reasons":[]}']);
  expect(await ask('/metrics')).toEqual([200, expect.stringContaining('process_cpu')]);
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toContain('espalier_role_up{role="api"} 1');
  expect(metrics).not.toMatch(/espalier_(training|quarantine)|(project|policy|key)=/);
  for (const path of ['/other', '//']) expect(await ask(path)).toEqual([404, '']);
  proxy.cut();
  const away = '{"ready":false,"reasons":["the database does not answer","the log does not answer"]}';
  await until(async () => String(await ask('/readyz')) === `503,${away}`); // it looks every half second
  proxy.restore();
  worker.kill('SIGTERM');
  await until(async () => String(await ask('/readyz')).includes('this process is stopping'));
  worker.kill('SIGTERM');
  expect(await worker.ended).toBe(143); // by force, before the minute of its drain
});

test('a projector says at its probe port, without a key, how far the read models are behind', async () => {
  const worker = startRole('project', { ...env, ESPALIER_PROBE_PORT: '0' });
  await worker.saying(/"message":"projecting"/);
  const port = (await worker.saying(/"message":"probes".*"port":(\d+)/))[1];
  const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  expect(metrics).toMatch(/^espalier_projection_lag_records\{projection="runs",role="project"\} 0$/m);
  worker.kill('SIGTERM');
  expect(await worker.ended).toBe(0);
});

test('a collector that is stopped before its run ended exits with 143, so that a Job starts it again', async () => {
  const { startCollector } = await planRun(platform, 1, { ...plan, tasks: [{ alias: '40', rollouts: 200, branching: 'root' }] });
  const collector = startCollector();
  await collector.saying(/"message":"collecting"/);
  collector.kill('SIGTERM');
  expect([await collector.ended, collector.stderr()]).toEqual([143, expect.not.stringContaining('"message":"collected"')]);
});

test('a server that waits for the database ends when it is stopped, and one whose login is refused ends with the reason', async () => {
  proxy.cut();
  const waiting = startRole('project', env);
  await waiting.saying(WAITS);
  waiting.kill('SIGTERM');
  expect(await waiting.ended).toBe(0);
  const stranger = new URL(platform.databaseUrl);
  stranger.username = 'stranger';
  const refused = startRole('project', { ...env, DATABASE_URL: stranger.toString() });
  expect(await refused.ended).toBe(1);
  expect(refused.stderr()).toMatch(/cannot reach Postgres at .*stranger/);
});
