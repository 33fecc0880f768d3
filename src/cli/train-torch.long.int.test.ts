import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PYTHON_PACKAGE } from '../runtime/python-server.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { pythonForTests } from '../testing/python.ts';
import { type ChildProcess, killRunning, runInProcess, startProcess } from '../testing/worker-process.ts';

const run = promisify(execFile);
const found = await pythonForTests();
const python = found.kind === 'found' ? found.python : '';
const UPDATES = 3;
const SMALL = [
  ...['--updates', `${UPDATES}`, '--groups', '2', '--group', '2', '--max-steps', '2', '--max-tokens', '6'],
  // random bytes earn nothing: what moves the weights is the entropy
  ...['--keep-zero-variance', '--entropy', '0.01', '--learning-rate', '0.001', '--test-tasks', '1', '--rollouts', '1'],
];

(found.kind === 'found' ? describe : describe.skip)(
  found.kind === 'found' ? 'espalier train with torch' : `espalier train with torch: skipped, ${found.reason}`,
  () => {
    let platform: Awaited<ReturnType<typeof openTestPlatform>>;
    let env: Readonly<Record<string, string>>;
    let folder: string;
    let model: string;
    beforeAll(async () => {
      platform = await openTestPlatform();
      env = { ...environmentOf(platform), ESPALIER_PYTHON: python };
      folder = await mkdtemp(join(tmpdir(), 'espalier-tiny-'));
      model = join(folder, 'tiny');
      await run(python, ['-m', 'espalier_rl.trainer.tiny', '--out', model], {
        env: { ...process.env, PYTHONPATH: PYTHON_PACKAGE },
      });
    });
    afterAll(async () => {
      await killRunning();
      await platform.close();
      await rm(folder, { recursive: true, force: true });
    });

    const train = (...more: readonly string[]): ChildProcess =>
      startProcess(
        'src/cli/main.ts',
        ['--json', 'train', '--policy', 'tiny', '--backend', 'torch', '--model', model, ...SMALL, ...more],
        env,
      );

    test('a model that cannot be trained as asked is one error, before anything is recorded', async () => {
      const mute = join(folder, 'mute');
      await cp(model, mute, { recursive: true, filter: (path) => !/tokenizer|chat_template/.test(path) });
      const refusals = [
        [['--model', join(folder, 'none')], {}, /^espalier: .* is no folder of a model: /],
        [['--model', mute], {}, /^espalier: .* has no tokenizer \(tokenizer\.json, .*; copy its files /],
        [['--model', model, '--prompt', 'image'], {}, /^espalier: the model .* reads texts alone, .* \(--prompt text\)/],
        [
          ['--model', model],
          { ESPALIER_PYTHON: process.execPath },
          /^espalier: .* has no torch .*; name one that has it: ESPALIER_PYTHON=/,
        ],
        [[], {}, /^espalier: torch: the backend torch has no model; name one/],
      ] as const;
      for (const [args, more, line] of refusals) {
        const { code, stderr } = await runInProcess(['train', '--backend', 'torch', ...args], { ...env, ...more });
        expect([code, stderr.trim().split('\n').at(-1)]).toEqual([1, expect.stringMatching(line)]);
      }
      const { rows } = await platform.database.pool.query('select count(*)::int as events from events');
      expect(rows).toEqual([{ events: 0 }]);
    });

    test('a training whose Python processes and then itself are killed goes on to the last version, every sample trained once', async () => {
      const first = train();
      await first.saying(new RegExp(`version 1 of ${UPDATES}`), 240_000);
      for (const pid of await childrenOf(first)) process.kill(pid, 'SIGKILL');
      await first.saying(new RegExp(`version 2 of ${UPDATES}`), 240_000);
      first.kill('SIGKILL');
      await first.ended;
      const again = train('--resume');
      expect([await again.ended, again.stderr()]).toEqual([0, expect.not.stringContaining('espalier:')]);
      const samples = UPDATES * 4;
      expect(JSON.parse(again.stdout())).toMatchObject({
        state: 'completed',
        version: UPDATES,
        ledger: { produced: samples, trained: samples, difference: 0 },
        evaluations: [{ version: 0 }, { version: UPDATES }],
      });
    }, 600_000);

    test('each sampled step names the version that the server confirmed, one for a whole group', async () => {
      const { rows } = await platform.database.pool.query<{ versions: number[]; prints: string[]; steps: number }>(
        `select array_agg(distinct (s.policy_spans #>> '{0,version}')::int) as versions,
                array_agg(distinct e.body::jsonb #>> '{data,call,fingerprint}') as prints, count(*)::int as steps
         from steps s join trees t using (tree_id) join runs r using (run_id)
         join events e on e.stream = s.tree_id and e.type = 'StepTaken' and e.body::jsonb #>> '{data,stepId}' = s.step_id::text
         where r.config #>> '{training,channel}' = 'train' and s.depth > 0 group by s.tree_id`,
      );
      expect(rows).toHaveLength(2 * UPDATES);
      for (const { versions, prints } of rows) expect([versions.length, prints.length]).toEqual([1, 1]);
      const printOf = new Map(rows.map(({ versions, prints }) => [versions[0], prints[0]]));
      expect([...printOf.keys()].sort()).toEqual([0, 1, 2]);
      expect(new Set(printOf.values()).size).toBe(UPDATES);
    });

    test.each([
      ['live:tiny', UPDATES],
      ['live:tiny@1', 1],
    ])('evaluate measures %s by version %i', async (policy, version) => {
      const asked = ['--tasks', '1', '--max-steps', '2', '--prompt', 'text'];
      const { code, stdout, stderr } = await runInProcess(['--json', 'evaluate', '--policy', policy, ...asked], env);
      expect([code, stderr]).toEqual([0, expect.not.stringContaining('espalier:')]);
      expect(JSON.parse(stdout)).toMatchObject({ policy: { policyId: 'tiny', version }, episodes: 1 });
    });

    test('the greedy rollouts that ReMax compares with are collected by the version of their group', async () => {
      const { code, stdout } = await runInProcess(
        [
          '--json',
          'train',
          '--policy',
          'remax',
          '--backend',
          'torch',
          '--model',
          model,
          ...SMALL,
          '--estimator',
          'remax',
          '--updates',
          '2',
        ],
        env,
      );
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ state: 'completed', version: 2, ledger: { trained: 8, difference: 0 } });
      const { rows } = await platform.database.pool.query(
        `select distinct (s.policy_spans #>> '{0,version}')::int as version
         from steps s join trees t using (tree_id) join runs r using (run_id)
         where r.config #>> '{training,channel}' = 'baseline' and s.depth > 0 order by 1`,
      );
      expect(rows).toEqual([{ version: 0 }, { version: 1 }]);
    }, 400_000);
  },
);

/** The Python processes that a training started: its trainer and its model server. */
async function childrenOf({ pid }: ChildProcess): Promise<readonly number[]> {
  const { stdout } = await run('ps', ['-eo', 'pid=,ppid=,args=']);
  const lines = stdout.split('\n').map((line) => line.trim().split(/\s+/));
  const children = lines.filter(
    ([, parent, ...args]) => Number(parent) === pid && args.join(' ').includes('espalier_rl.trainer'),
  );
  expect(children).toHaveLength(2);
  return children.map(([child]) => Number(child));
}
