import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '../events/new-id.ts';
import { connect } from '../postgres/pool.ts';
import { nodeArguments } from '../testing/bundle-programs.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { holdAppends } from '../testing/hold-appends.ts';
import { until } from '../testing/until.ts';
import { useTestPlatform } from '../testing/use-test-platform.ts';
import { killRunning, startProcess } from '../testing/worker-process.ts';

afterEach(killRunning);
const platform = useTestPlatform({ opened: 'before-each', projector: 'none' });
let env: Readonly<Record<string, string>>;
beforeEach(() => {
  env = environmentOf(platform);
});

const SMALL = ['--tasks', '3', '--rollouts', '3', '--max-steps', '12', '--seed', '5'];

describe('a stopped command', () => {
  const run = newId();
  test.each([
    ['collect', ['collect', '--policy', 'planner:0.4', ...SMALL, '--run', run], 'SIGINT', 130, { run, plannedTrees: 3 }],
    ['collect', ['collect', '--policy', 'planner:0.4', ...SMALL, '--run', run], 'SIGTERM', 143, { run, plannedTrees: 3 }],
    ['evaluate', ['evaluate', '--policy', 'random', ...SMALL, '--run', run], 'SIGINT', 130, { run, plannedTrees: 3 }],
    [
      'train',
      ['train', '--policy', 'mine', '--updates', '2', '--test-tasks', '0'],
      'SIGTERM',
      143,
      { policyId: 'mine', version: 0 },
    ],
  ] as const)(
    '%s reports its stop as JSON on request and exits with the code of the signal',
    async (_name, args, signal, code, said) => {
      const appends = await holdAppends(platform, 20);
      const child = startProcess('src/cli/main.ts', ['--json', ...args], env);
      await appends.held();
      child.kill(signal);
      await child.saying(/stopping after the work in progress/);
      await appends.release();
      expect(await child.ended).toBe(code);
      expect(child.stdout().trimEnd().split('\n')).toHaveLength(1);
      expect(JSON.parse(child.stdout())).toMatchObject({ ...said, state: 'stopped' });
    },
  );

  test('a stopped command without a result reports only the stop', async () => {
    const value = new TextEncoder().encode('unreadable'); // it is set aside, which takes the lock of a cursor like any other
    await platform.log.append([{ topic: 'runs', key: 'k', value }]);
    const holder = await connect(platform.databaseUrl);
    await holder.query('begin; lock table cursors in exclusive mode');
    const child = startProcess('src/cli/main.ts', ['--json', 'verify'], env);
    const waits = "select 1 from pg_locks where not granted and relation = 'cursors'::regclass";
    await until(async () => (await platform.database.pool.query(waits)).rows.length > 0);
    child.kill('SIGINT');
    await child.saying(/stopping after the work in progress/);
    await holder.end();
    expect(await child.ended).toBe(130);
    expect(child.stdout()).toBe('{"state":"stopped"}\n');
  });
});

describe('a closed pipe', () => {
  test.each(['stdout', 'stderr'] as const)('a closed %s does not end a collection', async (closed) => {
    const runId = newId();
    const args = ['collect', '--policy', 'planner:0.4', ...SMALL, '--run', runId];
    const child = spawn(process.execPath, [...nodeArguments('src/cli/main.ts'), ...args], {
      env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child[closed].destroy(); // long before its first line
    child[closed === 'stdout' ? 'stderr' : 'stdout'].resume();
    try {
      expect(await once(child, 'exit')).toEqual([0, null]);
    } finally {
      child.kill('SIGKILL');
    }
    const run = platform.database.db.selectFrom('runs').select('outcome').where('runId', '=', runId);
    expect(await run.executeTakeFirst()).toEqual({ outcome: 'completed' });
  });
});
