import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { PYTHON_PACKAGE } from '../runtime/python-server.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { pythonForTests } from '../testing/python.ts';
import { runInProcess } from '../testing/worker-process.ts';

const found = await pythonForTests();
const python = found.kind === 'found' ? found.python : '';
const SMALL = ['--updates', '2', '--groups', '1', '--group', '2', '--max-steps', '1', '--max-tokens', '4', '--test-tasks', '0'];

(found.kind === 'found' ? test : test.skip)(
  'a language model acts, is trained and acts again by its new weights, from the command line',
  async () => {
    const platform = await openTestPlatform();
    const folder = await mkdtemp(join(tmpdir(), 'espalier-tiny-'));
    try {
      const model = join(folder, 'tiny');
      const env = { ...process.env, PYTHONPATH: PYTHON_PACKAGE };
      await promisify(execFile)(python, ['-m', 'espalier_rl.trainer.tiny', '--out', model], { env });
      const command = ['--json', 'train', '--backend', 'torch', '--model', model, '--keep-zero-variance', ...SMALL];
      const { code, stdout, stderr } = await runInProcess(command, { ...environmentOf(platform), ESPALIER_PYTHON: python });
      expect([code, stderr]).toEqual([0, expect.not.stringContaining('espalier:')]);
      const ledger = { produced: 4, trained: 4, difference: 0 };
      expect(JSON.parse(stdout)).toMatchObject({ state: 'completed', version: 2, ledger });
    } finally {
      await platform.close();
      await rm(folder, { recursive: true, force: true });
    }
  },
  300_000,
);
