import { execFile } from 'node:child_process';
import { describe, expect, test } from '@jest/globals';
import { consumersForTests } from '../../testing/python.ts';

const found = await consumersForTests();

/** Runs the tests of the adapters in python/: the real packages on CPU, with a tiny model that is made there. */
(found.kind === 'found' ? describe : describe.skip)(
  `the adapters for verl and TRL (${found.kind === 'found' ? found.versions : `skipped: ${found.reason}`})`,
  () => {
    test('each of verl and TRL trains the tokens that the policy sampled and no other', async () => {
      const python = found.kind === 'found' ? found.python : '';
      const said = await new Promise<string>((resolve) => {
        const command = ['-W', 'ignore', '-m', 'unittest', 'discover', '-s', 'tests_consumers', '-t', '.'];
        const env = { ...process.env, HF_HUB_OFFLINE: '1', TRL_EXPERIMENTAL_SILENCE: '1' };
        execFile(python, command, { cwd: 'python', env, timeout: 540_000, maxBuffer: 16 * 2 ** 20 }, (_error, stdout, stderr) => {
          resolve(stdout + stderr);
        });
      });
      expect(said.slice(-4_000)).toMatch(/\nRan [1-9]\d* tests in [^\n]*\n\nOK/);
    }, 600_000);
  },
);
