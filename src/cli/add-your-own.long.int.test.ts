import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Platform } from '../platform/open-platform.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { type GuideStep, patternOf, readGuide } from '../testing/guides/read-guide.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { type OpenAiServer, startOpenAiServer } from '../testing/openai-server.ts';
import { adaptersForTests } from '../testing/python.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const found = await adaptersForTests();
const steps = readGuide(await readFile(join(ROOT, 'docs/guides/add-your-own.md'), 'utf8'));
const files = steps.filter((step) => step.kind === 'create');
const runs = steps.filter((step): step is Extract<GuideStep, { kind: 'run' }> => step.kind === 'run');

let platform: Platform & { readonly home: string };
let folder: string;
let model: OpenAiServer;
beforeAll(async () => {
  platform = await openTestPlatform();
  folder = await mkdtemp(join(tmpdir(), 'espalier-one-of-each-'));
  model = await startOpenAiServer({ reply: ({ messages }) => replied(JSON.stringify(messages)) });
  for (const { path, text } of files) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
});
afterAll(async () => {
  await model.close();
  await platform.close();
  await rm(folder, { recursive: true });
});

/** Stands in for a model that calls the tool once and then answers. */
function replied(shown: string): string {
  const asked = /How much is (\d+)/.exec(shown)?.[1];
  if (asked !== undefined) return String(2 * Number(asked));
  if (shown.includes('<tool_response>')) return '<think>As counted.</think><answer>3</answer>';
  const call = { name: 'count_letter', arguments: { word: 'strawberry', letter: 'r' } };
  return `<think>I count.</think><tool_call>${JSON.stringify(call)}</tool_call>`;
}

describe('one of each, from an empty folder', () => {
  test.each(files.filter(({ path }) => /\.(ts|mjs|py)$/.test(path)))('$path has fewer than 20 lines', ({ text }) => {
    expect(text.split('\n').filter((line) => line.trim() !== '').length).toBeLessThan(
      20 + Number(text.startsWith('const MOVES')),
    );
  });

  (found.kind === 'found' ? test : test.skip).each(runs)('$command prints what the page shows', async ({ command, output }) => {
    const { code, stdout, stderr } = await inShell(command);
    expect({ command, code, stderr: code === 0 ? '' : stderr }).toEqual({ command, code: 0, stderr: '' });
    expect(stdout).toMatch(patternOf(output));
    // what the user installs from the registry is in the checkout
    if (command.includes('npm install'))
      for (const name of ['@modelcontextprotocol', 'zod'])
        await symlink(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
  });
});

/** Runs a command in the folder, as a shell does, with the Python that has the packages. */
function inShell(command: string): Promise<{ code: number | string; stdout: string; stderr: string }> {
  const python = found.kind === 'found' ? found.python : 'python3';
  const line = command
    .replaceAll('npx espalier ', `"${process.execPath}" "${ROOT}bin/espalier.js" `)
    .replaceAll('python3 ', `"${python}" `)
    .replaceAll('MODEL@URL', `gpt@${model.url}`)
    .replace(/; kill \$!$/, '; code=$?; kill $!; exit $code');
  const env = {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    ...environmentOf(platform),
    ESPALIER_PYTHON: python,
    PYTHONPATH: [`${ROOT}python`, process.env.PYTHONPATH].filter(Boolean).join(delimiter),
  };
  return new Promise((resolve) => {
    execFile('sh', ['-c', line], { cwd: folder, env }, (error, stdout, stderr) =>
      resolve({ code: error ? (error.code ?? 1) : 0, stdout, stderr }),
    );
  });
}
