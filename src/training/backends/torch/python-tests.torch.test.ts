import { execFile } from 'node:child_process';
import { describe, expect, test } from '@jest/globals';
import { readConfig } from '../../../runtime/config.ts';
import { pythonForTests } from '../../../testing/python.ts';

const found = await pythonForTests();
const python = found.kind === 'found' ? found.python : (readConfig().python ?? 'python3');

/** Runs the tests of the Python package. Without torch those of the protocol run, the others skip themselves. */
describe(`the tests in python/ (${found.kind === 'found' ? `torch ${found.torch}` : `protocol only: ${found.reason}`})`, () => {
  test('every Python test passes', async () => {
    const said = await new Promise<string>((resolve) => {
      const command = ['-m', 'unittest', 'discover', '-s', 'tests', '-t', '.'];
      execFile(python, command, { cwd: 'python', timeout: 540_000, maxBuffer: 16 * 2 ** 20 }, (_error, stdout, stderr) => {
        resolve(stdout + stderr);
      });
    });
    expect(said.slice(-4_000)).toMatch(/\nRan [1-9]\d* tests in [^\n]*\n\nOK/);
  }, 600_000);
});
