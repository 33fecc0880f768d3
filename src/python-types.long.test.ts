import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { PYTHON_PACKAGE } from './runtime/python-server.ts';
import { mypyForTests } from './testing/python.ts';

const found = await mypyForTests();
const python = found.kind === 'found' ? found.python : '';

(found.kind === 'found' ? describe : describe.skip)(
  `the types of the Python package and of a program that uses all of it (${found.kind === 'found' ? found.versions : found.reason})`,
  () => {
    test('mypy finds nothing wrong in either by its strict rules', async () => {
      const cache = await mkdtemp(join(tmpdir(), 'espalier-mypy-'));
      const mypy = (args: readonly string[]) => check(python, ['-m', 'mypy', '--strict', '--cache-dir', cache, ...args]);
      const said = [await mypy([]), await mypy(['tests_consumers/typed_program.py'])];
      await rm(cache, { recursive: true });
      for (const each of said) expect(each).toMatch(/^Success: no issues found in [1-9]\d* source files?$/m);
    });

    test('pyright finds nothing wrong in the program by its strict rules', async () => {
      const pyright = createRequire(import.meta.url).resolve('pyright');
      const said = await check(process.execPath, [pyright, '--project', '.', '--pythonpath', python, '--stats']);
      expect(said).toContain('\n0 errors, 0 warnings, 0 informations');
      expect(said).toMatch(/^Total files checked: 1$/m);
    });
  },
);

/** Returns what a checker says of the package, from its folder. */
function check(program: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve) => {
    execFile(program, args, { cwd: PYTHON_PACKAGE, timeout: 280_000 }, (_, stdout, stderr) => resolve(stdout + stderr));
  });
}
