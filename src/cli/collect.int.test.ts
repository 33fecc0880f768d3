import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '../events/new-id.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { holdAppends } from '../testing/hold-appends.ts';
import { useTestPlatform } from '../testing/use-test-platform.ts';
import { killRunning, runEspalier, startProcess } from '../testing/worker-process.ts';
import { runDigest } from '../usecases/datasets/digest-trees.ts';

afterEach(killRunning);
const platform = useTestPlatform({ opened: 'before-each', projector: 'none' });
let env: Readonly<Record<string, string>>;
beforeEach(() => {
  env = environmentOf(platform);
});

const ARGS = [
  'collect',
  '--task',
  '0',
  '40',
  '7',
  '--rollouts',
  '3',
  '--policy',
  'planner:0.4',
  '--max-steps',
  '12',
  '--seed',
  '5',
];

async function anomalies(): Promise<readonly unknown[]> {
  const { db } = platform.database;
  return [
    ...(await db.selectFrom('anomalies').selectAll().execute()),
    ...(await db.selectFrom('quarantine').selectAll().execute()),
  ];
}

describe('espalier collect', () => {
  test('a stopped collection ends after the steps in flight, explains how to resume, and then reaches the trees of an undisturbed run', async () => {
    const appends = await holdAppends(platform, 20);
    const runId = newId();
    const child = startProcess('src/cli/main.ts', [...ARGS, '--run', runId], env);
    await appends.held();
    child.kill('SIGINT');
    await child.saying(/stopping after the work in progress/);
    await appends.release();
    expect(await child.ended).toBe(130);
    expect(child.stdout()).toContain(`run ${runId} stopped`);
    expect(child.stdout()).toContain(`continue with: espalier collect --resume ${runId}`);
    const { db } = platform.database;
    expect(await db.selectFrom('runs').select('finishedAt').where('runId', '=', runId).execute()).toEqual([{ finishedAt: null }]);

    const resumed = await runEspalier(['--json', 'collect', '--resume', runId], env);
    expect(JSON.parse(resumed.stdout)).toMatchObject({ run: runId, state: 'completed', trees: 3, rollouts: 9 });
    const whole = await runEspalier(['--json', ...ARGS], env);
    const { run } = JSON.parse(whole.stdout) as { run: string }; // as the command prints it
    expect(await runDigest(platform, runId)).toEqual(await runDigest(platform, run));
    expect(await anomalies()).toEqual([]);
  });

  test('a second process that collects a run in progress is refused and does not disturb the first', async () => {
    const appends = await holdAppends(platform, 20);
    const runId = newId();
    const first = startProcess('src/cli/main.ts', [...ARGS, '--run', runId], env);
    await appends.held();
    for (const args of [
      [...ARGS, '--run', runId],
      ['collect', '--resume', runId],
    ]) {
      const second = await runEspalier(args, env);
      expect(second.stderr).toMatch(
        new RegExp(
          `^espalier: run ${runId} is being collected by another process \\(pid \\d+ on .+, heard from \\d+ s ago\\); stop it first, or wait: who is silent for 15 s is replaced\n$`,
        ),
      );
      expect(second.code).toBe(1);
    }
    await appends.release();
    expect(await first.ended).toBe(0);
    expect(first.stdout()).toContain(`run ${runId} completed: 9 rollouts`);
    expect(await anomalies()).toEqual([]);
  });

  test('a search by the rules of Agent-R records them in its plan and resumes by them', async () => {
    const search = [
      '--search',
      'mcts',
      '--compat',
      'agent-r',
      '--max-token-length',
      '4000',
      '--iterations',
      '2',
      '--max-depth',
      '3',
    ];
    const args = ['collect', '--task', '7', '40', '--policy', 'planner:0.4', '--seed', '5', ...search];
    const appends = await holdAppends(platform, 40);
    const runId = newId();
    const child = startProcess('src/cli/main.ts', [...args, '--run', runId], env);
    await appends.held();
    child.kill('SIGINT');
    await child.saying(/stopping after the work in progress/);
    await appends.release();
    expect(await child.ended).toBe(130);
    expect((await runEspalier(['collect', '--resume', runId], env)).stdout).toContain(`run ${runId} completed`);
    const whole = await runEspalier(['--json', ...args], env);
    const { run } = JSON.parse(whole.stdout) as { run: string }; // as the command prints it
    expect(await runDigest(platform, runId)).toEqual(await runDigest(platform, run));
    const { config } = await platform.database.db
      .selectFrom('runs')
      .select('config')
      .where('runId', '=', runId)
      .executeTakeFirstOrThrow();
    expect(config).toMatchObject({
      search: { iterations: 2, maxDepth: 3, compat: { system: 'agent-r', maxTokenLength: 4_000, rewardScale: 1 } },
    });
  });

  test('the end of a run says how much of what an environment claims was compared, and nothing of our own environments', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'claims-'));
    const file = join(folder, 'claims.mjs');
    const play =
      '() => ({ reset: () => ({ observation: "go", admissibleActions: ["go"] }), step: () => ({ observation: "on", reward: 0, admissibleActions: ["go"] }) })';
    await writeFile(
      file,
      `export const environment = { name: 'claims', open: () => ({ taskAliases: ['a'], deterministic: true, create: ${play} }) };`,
    );
    try {
      const args = ['--environment', `module:${file}`, '--max-steps', '2'];
      const end = 'compared with episodes from the opening, and none differed\n';
      for (const command of ['collect', 'evaluate']) {
        const { code, stdout } = await runEspalier([command, ...args, '--rollouts', '1', '--tasks', 'all'], env);
        expect([code, stdout]).toEqual([0, expect.stringMatching(new RegExp(`\\n1 rollout was ${end}`))]);
      }
      const search = ['--search', 'mcts', '--iterations', '2', '--max-depth', '2'];
      const searched = await runEspalier(['collect', ...args, ...search], env);
      expect([searched.code, searched.stdout]).toEqual([
        0,
        expect.stringMatching(new RegExp(`\\n[1-9]\\d* answers of the search were ${end}`)),
      ]);
    } finally {
      await rm(folder, { recursive: true });
    }
    expect((await runEspalier(ARGS, env)).stdout).not.toContain('compared');
  });

  test('a reward for compression that pays nothing in its iteration, and counts in no training without a weight, is noted once', async () => {
    const asked = [
      'collect',
      '--task',
      '0',
      '--policy',
      'random',
      '--max-steps',
      '2',
      '--prompt',
      'image',
      '--compression',
      'factor',
    ];
    const { code, stderr } = await runEspalier(asked, env);
    expect(code).toBe(0);
    expect(stderr.split('\n').filter((line) => line.startsWith('note: '))).toEqual([
      'note: nothing is paid for compression in iteration 1, since one in 5 is paid (--iteration, --compression-preset); training counts the component compression where it has a weight: --rewards environment=1,compression=1',
    ]);
  });

  test('the rules of a search are refused without a search', async () => {
    const lone = await runEspalier(['collect', '--compat', 'agent-r'], env);
    expect(lone).toEqual({ code: 1, stdout: '', stderr: 'espalier: --compat is about how to search: add --search mcts\n' });
  });

  test('a collection under the id of a run with another plan or seed is refused', async () => {
    const runId = newId();
    expect((await runEspalier([...ARGS, '--run', runId], env)).code).toBe(0);
    const digest = await runDigest(platform, runId);
    for (const other of [
      ['--seed', '6'],
      ['--rollouts', '4'],
      ['--policy', 'random'],
    ]) {
      const again = await runEspalier([...ARGS, ...other, '--run', runId], env);
      expect(again.stderr).toBe(
        `espalier: run ${runId} was begun with another plan or seed; resume it with the ones recorded, or begin a new run\n`,
      );
      expect(again.code).toBe(1);
    }
    expect(await runDigest(platform, runId)).toEqual(digest);
  });
});
