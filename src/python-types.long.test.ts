import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { mypyForTests } from './testing/python.ts';

const found = await mypyForTests();

(found.kind === 'found' ? test : test.skip)(
  `mypy finds nothing wrong in the types of the Python package, nor in a program that uses all of it, by its strict rules (${found.kind === 'found' ? found.versions : found.reason})`,
  async () => {
    const python = found.kind === 'found' ? found.python : '';
    const cache = await mkdtemp(join(tmpdir(), 'espalier-mypy-'));
    const check = (args: readonly string[]) =>
      new Promise<string>((resolve) => {
        execFile(
          python,
          ['-m', 'mypy', '--strict', '--cache-dir', cache, ...args],
          { cwd: 'python', timeout: 280_000 },
          (_, stdout, stderr) => resolve(stdout + stderr),
        );
      });
    const said = [await check([]), await check(['tests_consumers/typed_program.py'])];
    await rm(cache, { recursive: true });
    for (const each of said) expect(each).toMatch(/^Success: no issues found in [1-9]\d* source files?$/m);
  },
);
