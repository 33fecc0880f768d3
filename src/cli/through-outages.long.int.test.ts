import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { freePort } from '../runtime/free-port.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { type CuttableProxy, startCuttableProxy } from '../testing/cuttable-proxy.ts';
import { until } from '../testing/until.ts';
import { useTestPlatform } from '../testing/use-test-platform.ts';
import { type ChildProcess, killRunning, runInProcess, startProcess } from '../testing/worker-process.ts';

const platform = useTestPlatform({ opened: 'before-each', projector: 'none' });
let proxy: CuttableProxy;
let env: Readonly<Record<string, string>>;
let cutEnv: Readonly<Record<string, string>>;
beforeEach(async () => {
  env = environmentOf(platform);
  proxy = await startCuttableProxy(platform.databaseUrl);
  cutEnv = { ...env, DATABASE_URL: proxy.url };
});
afterEach(async () => {
  await killRunning();
  await proxy.close();
});

const OF_PROCESS = ['run', 'runId', 'comparisons', 'finishedAt'];

/** What a command printed as JSON, without what differs between two runs that did the same. */
function resultOf(stdout: string): unknown {
  return JSON.parse(stdout, (key, value: unknown) => (OF_PROCESS.includes(key) ? undefined : value));
}

const OUTAGES_MS = [75_000, 2_500, 2_500]; // the first is longer than any time limit of a connection or an append

/** Takes the database away from a process several times. Returns how many outages it lived through. */
async function disturb(child: ChildProcess): Promise<number> {
  let survived = 0;
  let hasEnded = false;
  const ended = child.ended.then(() => {
    hasEnded = true;
  });
  for (const outageMs of OUTAGES_MS) {
    if (hasEnded) break;
    proxy.cut();
    await Promise.race([ended, delay(outageMs)]);
    if (!hasEnded) survived++;
    proxy.restore();
    await Promise.race([ended, delay(4_000)]);
  }
  return survived;
}

const WORLD = ['--policy', 'planner:0.4', '--tasks', '8', '--rollouts', '100', '--max-steps', '20', '--seed', '5'];

/** Runs a command to its end while the database is away several times, from when it says that it is at work. */
async function runThroughOutages(args: readonly string[], pattern: RegExp): Promise<string> {
  const child = startProcess('src/cli/main.ts', ['--json', ...args], cutEnv);
  await child.saying(pattern, 120_000);
  expect(await disturb(child)).toBeGreaterThan(0);
  const code = await child.ended;
  expect({ code, stderr: child.stderr() }).toMatchObject({ code: 0 });
  return child.stdout();
}

test.each(['collect', 'evaluate'])('%s goes through outages of the database and comes to the same result', async (command) => {
  const whole = await runInProcess(['--json', command, ...WORLD], env);
  expect(whole).toMatchObject({ code: 0 });
  const disturbed = await runThroughOutages([command, ...WORLD], /collecting: \d/);
  expect(resultOf(disturbed)).toEqual(resultOf(whole.stdout));
});

test('train goes through outages of the database, and every sample is accounted for', async () => {
  const args = ['train', '--policy', 'p', '--groups', '2', '--group', '8', '--updates', '6', '--test-tasks', '4'];
  const trained = JSON.parse(await runThroughOutages(args, /version 1 of 6/)) as unknown;
  expect(trained).toMatchObject({ state: 'completed', version: 6, ledger: { trained: 96, difference: 0 } });
});

test('up goes through an outage of the database that is longer than any time limit, and serves when it is back', async () => {
  const port = await freePort();
  const up = startProcess('src/cli/main.ts', ['--json', 'up'], { ...cutEnv, ESPALIER_PORT: String(port) });
  await up.printing(/"state":"serving"/, 120_000);
  const ready = async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status;
  await until(async () => (await ready()) === 200);
  expect(await disturb(up)).toBe(OUTAGES_MS.length);
  await until(async () => (await ready()) === 200);
  expect(await runInProcess(['collect', '--tasks', '1', '--rollouts', '1'], env)).toMatchObject({ code: 0 });
  up.kill('SIGTERM');
  expect(await up.ended).toBe(0);
});
