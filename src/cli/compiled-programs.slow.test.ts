import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
let checkout: string;

/** A checkout with one program, `src/cli/main.ts`, and one worker. */
beforeEach(async () => {
  checkout = await mkdtemp(join(tmpdir(), 'espalier-compiled-'));
  await cp(join(ROOT, 'bin'), join(checkout, 'bin'), { recursive: true });
  await writeFile(join(checkout, 'package.json'), '{ "type": "module" }');
  await symlink(join(ROOT, 'node_modules'), join(checkout, 'node_modules'));
  for (const folder of ['src/cli', 'workers']) await mkdir(join(checkout, folder), { recursive: true });
  await writeFile(join(checkout, 'src/said.ts'), "export const said: string = 'one';");
  await writeFile(
    join(checkout, 'src/cli/main.ts'),
    "import { said } from '../said.ts';\nconsole.log(said, process.argv.slice(2).join());",
  );
  await writeFile(join(checkout, 'workers/echo.ts'), 'console.log(import.meta.url.slice(-15), process.argv.slice(2).join());');
});

afterEach(() => rm(checkout, { recursive: true, force: true }));

describe('compiled programs', () => {
  test('a program runs compiled and receives its arguments', async () => {
    expect(await node('bin/espalier.js', 'a', '--b')).toEqual({ code: 0, stdout: 'one a,--b\n', stderr: '' });
    expect((await readdir(join(checkout, 'dist'))).filter((name) => /^[0-9a-f]{16}$/.test(name))).toHaveLength(1);
  });

  test('a worker finds the files next to its source, not next to the bundle', async () => {
    expect(await node('bin/run.js', 'workers/echo.ts', 'x')).toEqual({ code: 0, stdout: 'workers/echo.ts x\n', stderr: '' });
  });

  test('a changed source is compiled again before it runs', async () => {
    await node('bin/espalier.js');
    await writeFile(join(checkout, 'src/said.ts'), "export const said: string = 'two, longer';");
    expect((await node('bin/espalier.js')).stdout).toBe('two, longer \n');
  });

  test('two concurrent first starts both run', async () => {
    const both = await Promise.all([node('bin/espalier.js', '1'), node('bin/espalier.js', '2')]);
    expect(both.map(({ stdout }) => stdout)).toEqual(['one 1\n', 'one 2\n']);
    expect((await readdir(join(checkout, 'dist'))).filter((name) => name.startsWith('building-'))).toEqual([]);
  });

  test('an installation that is not writable runs the sources and reports it', async () => {
    await writeFile(join(checkout, 'dist'), 'a file where the folder would be');
    const { code, stdout, stderr } = await node('bin/espalier.js', 'a');
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'one a\n' });
    expect(stderr).toMatch(/^espalier: starts from its sources, which takes longer: /);
  });

  test('an unknown program is refused with an example', async () => {
    expect(await node('bin/run.js', 'workers/nothing.ts')).toEqual({
      code: 2,
      stdout: '',
      stderr: 'run: no program workers/nothing.ts; name one, for example src/cli/main.ts\n',
    });
  });
});

function node(...args: readonly string[]): Promise<{ readonly code: number; readonly stdout: string; readonly stderr: string }> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [...args], { cwd: checkout }, (_error, stdout, stderr) => {
      resolve({ code: child.exitCode ?? -1, stdout, stderr });
    });
  });
}
