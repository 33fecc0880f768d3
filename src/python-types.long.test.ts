import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { mypyForTests } from './testing/python.ts';

const found = await mypyForTests();

(found.kind === 'found' ? test : test.skip)(
  `mypy finds nothing wrong in the types of the Python package, by its strict rules (${found.kind === 'found' ? found.versions : found.reason})`,
  async () => {
    const python = found.kind === 'found' ? found.python : '';
    const cache = await mkdtemp(join(tmpdir(), 'espalier-mypy-'));
    const said = await new Promise<string>((resolve) => {
      execFile(
        python,
        ['-m', 'mypy', '--strict', '--cache-dir', cache],
        { cwd: 'python', timeout: 280_000 },
        (_, stdout, stderr) => resolve(stdout + stderr),
      );
    });
    await rm(cache, { recursive: true });
    expect(said).toMatch(/^Success: no issues found in [1-9]\d+ source files$/m);
  },
);
