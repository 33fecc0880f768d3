import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { environmentOf } from '../testing/crashing-run.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { killRunning, runInProcess } from '../testing/worker-process.ts';

let platform: Awaited<ReturnType<typeof openTestPlatform>>;
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  platform = await openTestPlatform();
  env = environmentOf(platform);
});
afterAll(async () => {
  await killRunning();
  await platform.close();
});

const RANDOM = ['evaluate', '--policy', 'random', '--split', 'test', '--tasks', '5', '--max-steps', '4', '--rollouts', '3'];

test('evaluate measures the test split and continues past failures', async () => {
  const first = await runInProcess(['--json', ...RANDOM], env);
  expect(first.code).toBe(0);
  const { runId, ...result } = JSON.parse(first.stdout);
  expect(result).toMatchObject({
    policy: { policyId: 'random', version: 0 },
    split: 'test',
    tasks: 5,
    episodes: 15,
    recovery: null,
  });
  expect(result.successRate).toBeLessThan(1);

  const recovered = await runInProcess(['--json', 'evaluate', '--policy', 'planner', '--recover-from', runId], env);
  expect(recovered.code).toBe(0);
  expect(JSON.parse(recovered.stdout)).toMatchObject({
    recovery: { fromRunId: runId },
    successRate: 1,
    episodes: Math.round(15 * (1 - result.successRate)),
  });

  const table = await runInProcess(['evaluate', '--resume', runId], env);
  expect(table.code).toBe(0);
  expect(table.stdout).toContain(`run ${runId}: random version 0 on 5 tasks of textcraft (test), 15 episodes\n`);
  expect(table.stdout).toMatch(/^success +\d+\.\d% +\d+\.\d% – \d+\.\d%$/m);
});

test('a policy that cannot be evaluated is refused in one line with the remedy', async () => {
  const refusals = [
    [['--split', 'nope'], '--split: textcraft has no task of the split "nope"; leave it out for all tasks'],
    [['--task', '0', '1', '--split', 'test'], '--split chooses among all tasks; leave it out, or --task'],
    [
      ['--recover-from', '01234567-89ab-7def-8123-456789abcdef'],
      '--recover-from: there is no run 01234567-89ab-7def-8123-456789abcdef; `espalier status` lists the runs',
    ],
  ] as const;
  for (const [args, line] of refusals) {
    const { code, stderr } = await runInProcess(['evaluate', ...args], env);
    expect([code, stderr]).toEqual([1, `espalier: ${line}\n`]);
  }
});
