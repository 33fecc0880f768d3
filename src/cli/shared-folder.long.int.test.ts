import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { startEmbeddedPostgres } from '../postgres/embedded-server.ts';
import { until } from '../testing/until.ts';
import { type ChildProcess, killRunning, runInProcess, startProcess } from '../testing/worker-process.ts';

let home: string;
let env: Readonly<Record<string, string>>;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'espalier-shared-'));
  env = { ESPALIER_HOME: home, ESPALIER_PORT: '0', ESPALIER_LOG_LEVEL: 'error' };
});
afterEach(async () => {
  await killRunning();
  await (await startEmbeddedPostgres({ folder: join(home, 'postgres') })).close(); // waits until the server of those has stopped
  await rm(home, { recursive: true, force: true });
});

const collecting = (tasks: number, ...more: readonly string[]): ChildProcess =>
  startProcess(
    'src/cli/main.ts',
    ['--json', 'collect', '--policy', 'planner:0.2', '--tasks', `${tasks}`, '--rollouts', '8', ...more],
    env,
  );

test.each(['SIGKILL', 'SIGTERM'] as const)(
  'a collection continues when `up`, which started the server of the folder, ends by %s',
  async (signal) => {
    const up = startProcess('src/cli/main.ts', ['up'], env);
    await until(async () => up.stdout().includes('GraphQL'));
    const collector = collecting(60);
    await collector.saying(/^collecting: /);
    up.kill(signal);
    expect(await up.ended).toBe(signal === 'SIGKILL' ? 'SIGKILL' : 0);
    expect(collector.stdout()).toBe(''); // it was in the middle
    expect([await collector.ended, collector.stderr()]).toEqual([0, expect.not.stringContaining('espalier:')]);
    expect(JSON.parse(collector.stdout())).toMatchObject({ state: 'completed', trees: 60, rollouts: 480 });
  },
);

test('a collection continues when another one, which started the server of the folder, ends', async () => {
  const first = collecting(25, '--name', 'short');
  await first.saying(/^collecting: /);
  const second = collecting(60, '--name', 'long');
  await second.saying(/^collecting: /);
  expect(first.stdout()).toBe('');
  expect(await first.ended).toBe(0);
  expect(second.stdout()).toBe('');
  expect([await second.ended, second.stderr()]).toEqual([0, expect.not.stringContaining('espalier:')]);
  const { stdout } = await runInProcess(['--json', 'status'], env);
  const { runs } = JSON.parse(stdout) as { runs: { name: string; state: string }[] }; // as the command prints it
  expect(runs.map(({ name, state }) => [name, state])).toEqual([
    ['long', 'completed'],
    ['short', 'completed'],
  ]);
});
