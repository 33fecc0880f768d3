import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

const SOURCE = 'const name: string = await Promise.resolve("a");\nexport const tool = { name };';
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'exports-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Loads a module as a program does; tests load modules otherwise. Returns what it exports, or the message of the refusal. */
async function loaded(file: string): Promise<string> {
  await writeFile(file, SOURCE);
  const load = `(await import('./src/environments/tools/load-export.ts')).loadExport(${JSON.stringify(file)}, 'tool', 'tool')`;
  const program = `console.log(await ${load}.then(({ value }) => JSON.stringify(value), ({ message }) => message));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', program]);
  return stdout.trim();
}

test('a .ts file that its folder makes a CommonJS module is refused with how to make it an ES module', async () => {
  expect(await loaded(join(folder, 'later.ts'))).toMatch(
    /; name the file \S+later\.mts, or put a package\.json with "type": "module" next to it$/,
  );
  expect(await loaded(join(folder, 'later.mts'))).toBe('{"name":"a"}');
});
