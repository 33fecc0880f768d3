import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { EnvironmentError } from './environment.ts';
import { ENVIRONMENT_FORMS, openEnvironment } from './open-environment.ts';

const ZOD = pathToFileURL(join('node_modules', 'zod', 'index.js')).href;
/** A world of one task: guess the word. */
const GUESS = `
import { z } from '${ZOD}';
class Kind {
  name = 'guess';
  taskAliases = ['0'];
  constructor(word) { this.word = word; this.fingerprint = 'guess ' + word; }
  async create() {
    const word = this.word;
    return {
      reset: async () => { throw Object.assign(new Error('no server'), { name: 'EnvironmentError', code: 'backend' }); },
      step: async (action) => ({
        observation: action === word ? 'right' : 'wrong', success: action === word, terminated: true,
        ...(action === 'none' ? {} : { reward: { value: action === 'nan' ? NaN : 1, raw: 1, scale: 1, kind: 'final' } }),
      }),
      parse: (response) => ({ thought: '', action: response, wellFormatted: true }),
      close: async () => {},
    };
  }
  async close() {}
}
export const environment = {
  name: 'guess',
  options: z.strictObject({ word: z.string().default('pear') }),
  open: async ({ word }) => new Kind(word),
};
export const bare = { name: 'bare', open: async () => new Kind('fig') };
export const nameless = { open: async () => new Kind('fig') };
export const closed = { name: 'closed', open: 5 };
export const loose = { name: 'loose', options: {}, open: async () => new Kind('fig') };
export const empty = { name: 'empty', open: async () => Object.assign(new Kind('fig'), { taskAliases: [] }) };
`;

let folder: string;
let file: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'environments-'));
  file = join(folder, 'guess.mjs');
  await writeFile(file, GUESS);
});
afterAll(() => rm(folder, { recursive: true }));

describe('an environment from a module', () => {
  test('an environment from a module is opened by the path of its file, with its own options', async () => {
    for (const [address, word] of [
      [`module:${file}`, 'pear'],
      [`module:${file};word=plum`, 'plum'],
      [`module:${file}#bare`, 'fig'],
    ] as const) {
      const kind = await openEnvironment(address);
      expect(kind).toMatchObject({ name: 'guess', taskAliases: ['0'], fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/) });
      const environment = await kind.create();
      expect(await environment.step(word)).toMatchObject({ success: true });
      await kind.close();
    }
  });

  test('an environment from a module has a fingerprint of its file and of what its options make', async () => {
    const fingerprint = async (address: string) => (await openEnvironment(address)).fingerprint;
    const changed = join(folder, 'changed.mjs');
    await writeFile(changed, `${GUESS}// other rules\n`);
    const usual = await fingerprint(`module:${file}`);
    expect(await fingerprint(`module:${file};word=pear`)).toBe(usual);
    expect(await fingerprint(`module:${file};word=plum`)).not.toBe(usual);
    expect(await fingerprint(`module:${changed}`)).not.toBe(usual);
  });

  test.each([
    ['nan', 'what step returns.reward.value must be a finite number: return 0 where nothing was earned, at the action "nan"'],
    ['none', 'what step returns.reward must be { value, raw, scale, kind }, at the action "none"'],
  ])('a step that returns no reward that can be recorded (%s) is refused by its field, with the remedy', async (action, said) => {
    const environment = await (await openEnvironment(`module:${file}`)).create();
    await expect(environment.step(action)).rejects.toThrow(`environment ${file}#environment: ${said}`);
  });

  test('an error is an EnvironmentError by its name, without access to our class', async () => {
    const environment = await (await openEnvironment(`module:${file}`)).create();
    const fault = await environment.reset({ alias: '0', seed: 0 }).catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(EnvironmentError);
    expect(new Error('other')).not.toBeInstanceOf(EnvironmentError);
  });

  test.each([
    ['', 'file= must not be empty; write module:FILE[#EXPORT][;KEY=VALUE;…]'],
    ['./none.mjs', '(ENOENT)'],
    ['FILE#nothing', 'has no export "nothing"; it exports bare'],
    ['FILE#nameless', '#nameless: the export.name: must be a text'],
    ['FILE#closed', '#closed: the export.open: must be a function'],
    ['FILE#loose', '#loose: the export.options: must be a zod object'],
    ['FILE#empty', '#empty: what open returns.taskAliases: must name a task'],
    ['FILE;colour=red', '"colour=red" is no option of module:'],
    ['FILE;word', '"word" is no option: an option is KEY=VALUE'],
    ['FILE#bare;word=fig', 'is no option of module:'],
  ])('the address module:%s is refused', async (rest, message) => {
    await expect(openEnvironment(`module:${rest.replace('FILE', file)}`)).rejects.toMatchObject({
      name: 'EnvironmentError',
      message: expect.stringContaining(message),
    });
  });
});

test('an unknown name is refused with the names that there are', async () => {
  await expect(openEnvironment('./guess.mjs')).rejects.toThrow(
    `there is no environment "./guess.mjs"; name ${ENVIRONMENT_FORMS}`,
  );
  expect(ENVIRONMENT_FORMS).toBe(
    'textcraft[:FOLDER], search-qa[:KEY=VALUE;…], tool-env[:KEY=VALUE;…], chat[:KEY=VALUE;…], echo[:CHARACTERS], agentgym:SERVER@URL[?OPTION=VALUE&…]#TASKS, module:FILE[#EXPORT][;KEY=VALUE;…], python:FILE.py[#CLASS][;timeout=SECONDS], server:URL[;timeout=SECONDS], scienceworld[:KEY=VALUE;…], alfworld[:KEY=VALUE;…], babyai[:KEY=VALUE;…], agentenv-textcraft[:KEY=VALUE;…], webshop-generated[:KEY=VALUE;…] (options: espalier environments)',
  );
});
