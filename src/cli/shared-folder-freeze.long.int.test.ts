import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createRandom } from '../domain/random/random.ts';
import { startEmbeddedPostgres } from '../postgres/embedded-server.ts';
import { until } from '../testing/until.ts';
import { type ChildProcess, killRunning, runInProcess, startProcess } from '../testing/worker-process.ts';

const SEED = Number(process.env.ESPALIER_TEST_SEED ?? 1);
const FROZEN_MS = 14_000; // longer than a lease of the log

let home: string;
let env: Readonly<Record<string, string>>;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'espalier-frozen-'));
  env = { ESPALIER_HOME: home, ESPALIER_PORT: '0', ESPALIER_LOG_LEVEL: 'error' };
});
afterEach(async () => {
  await killRunning();
  await (await startEmbeddedPostgres({ folder: join(home, 'postgres') })).close(); // waits until the server of those has stopped
  await rm(home, { recursive: true, force: true });
});

test(`three collections, two servers and a training share one folder, and none fails that was not killed (seed ${SEED})`, async () => {
  const random = createRandom(SEED);
  const cli = (...args: readonly string[]) => startProcess('src/cli/main.ts', ['--json', ...args], env);
  const collect = (name: string) => cli('collect', '--policy', 'planner:0.2', '--tasks', '40', '--rollouts', '8', '--name', name);
  const said = (child: ChildProcess, line: RegExp) => async () => void (await child.saying(line));
  const up = (name: string) => {
    const child = cli('up');
    return { name, child, begun: () => until(() => child.stdout().includes('serving'), 90_000) };
  };
  const started: readonly { readonly name: string; readonly child: ChildProcess; begun(): Promise<void> }[] = [
    up('up 1'),
    up('up 2'),
    ...['a', 'b', 'c'].map((name) => {
      const child = collect(name);
      return { name, child, begun: said(child, /^collecting: /) };
    }),
    train(cli('train', '--updates', '3', '--groups', '2', '--group', '3', '--tasks', '8')),
  ];
  function train(child: ChildProcess) {
    return { name: 'train', child, begun: said(child, /^policy /) };
  }
  const fates = new Map<string, string>();
  const victims = random.shuffle(started).slice(0, 4);
  for (const { name, child, begun } of victims) {
    const fate = random.choice(['SIGKILL', 'SIGTERM', 'freeze'] as const);
    fates.set(name, fate);
    await begun();
    await delay(random.int(1_500)); // where it is struck is drawn
    if (fate === 'freeze') {
      child.kill('SIGSTOP');
      await delay(FROZEN_MS);
      child.kill('SIGCONT');
    } else child.kill(fate);
  }
  const drawn = JSON.stringify([...fates]);
  const wasEnded = (name: string) => ['SIGKILL', 'SIGTERM'].includes(fates.get(name) ?? '');
  for (const { name, child, begun } of started)
    if (name.startsWith('up') && !wasEnded(name)) {
      await begun();
      child.kill('SIGTERM');
    }
  for (const { name, child } of started) {
    const end = await child.ended;
    if (!wasEnded(name))
      expect([drawn, name, end, child.stderr()]).toEqual([drawn, name, 0, expect.not.stringContaining('espalier:')]);
  }
  const { stdout } = await runInProcess(['--json', 'status'], env);
  const { runs } = JSON.parse(stdout) as { runs: { name: string; state: string }[] }; // as the command prints it
  for (const { name, state } of runs.filter((run) => ['a', 'b', 'c'].includes(run.name)))
    if (!wasEnded(name)) expect([drawn, name, state]).toEqual([drawn, name, 'completed']);
});
