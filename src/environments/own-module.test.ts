import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { EnvironmentError } from './environment.ts';
import { ENVIRONMENT_FORMS, openEnvironment, parseEnvironment } from './open-environment.ts';

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
export const seen = { name: 'seen', renderer: './view.js', open: async () => new Kind('fig') };
export const seenBlank = { name: 'blank', renderer: './blank.js', open: async () => new Kind('fig') };
export const seenAbsent = { name: 'absent', renderer: './absent.js', open: async () => new Kind('fig') };
export const nameless = { open: async () => new Kind('fig') };
export const closed = { name: 'closed', open: 5 };
export const loose = { name: 'loose', options: {}, open: async () => new Kind('fig') };
const never = () => new Promise(() => {});
export const stuck = {
  name: 'stuck',
  open: () => ({ taskAliases: ['0'], timeout: 0.05, create: () => ({ reset: () => 'Begin.', step: never }) }),
};
export const unmade = { name: 'unmade', open: () => ({ taskAliases: ['0'], timeout: 0.05, create: never }) };
export const clinging = {
  name: 'clinging',
  open: () => ({
    taskAliases: ['0'],
    timeout: 0.05,
    create: () => ({ reset: () => 'Begin.', step: never, close: never, expertAction: never, planLength: never }),
  }),
};
export const empty = { name: 'empty', open: async () => Object.assign(new Kind('fig'), { taskAliases: [] }) };
`;

const VIEW = 'export function render({ steps, at }) { return steps[at].observation; }\n';

let folder: string;
let file: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'environments-'));
  file = join(folder, 'guess.mjs');
  await writeFile(file, GUESS);
  await writeFile(join(folder, 'view.js'), VIEW);
  await writeFile(join(folder, 'blank.js'), 'export const other = 1;');
});
afterAll(() => rm(folder, { recursive: true }));

describe('an environment from a module', () => {
  test('an environment brings a renderer by its path, and one that cannot be read or exports none is refused by name', async () => {
    expect((await openEnvironment(`module:${file}#seen`)).renderer).toBe(VIEW);
    expect((await openEnvironment(`module:${file}#bare`)).renderer).toBeUndefined();
    await expect(openEnvironment(`module:${file}#seenAbsent`)).rejects.toThrow(
      /^renderer \.\/absent\.js: cannot read .* \(ENOENT\)$/,
    );
    await expect(openEnvironment(`module:${file}#seenBlank`)).rejects.toThrow(
      /^renderer \.\/blank\.js exports no function render/,
    );
  });

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
    ['nan', 'reward.value must be a finite number: return 0 where nothing was earned'],
    ['none', 'reward must be a number or { value, raw, scale, kind }'],
  ])('a step that returns no reward that can be recorded (%s) is refused by its field, with the remedy', async (action, said) => {
    const environment = await (await openEnvironment(`module:${file}`)).create();
    await expect(environment.step(action)).rejects.toThrow(`the environment's answer to the action "${action}".${said}`);
  });

  test('a promise of a module that nobody settles is an error that names the call, the limit and the remedy', async () => {
    const stuck = await (await openEnvironment(`module:${file}#stuck`)).create();
    expect(await stuck.reset({ alias: '0', seed: 0 })).toMatchObject({ observation: 'Begin.' });
    await expect(stuck.step('wait')).rejects.toMatchObject({
      code: 'failed',
      message: `environment ${file}#stuck: step at the action "wait" has not settled within 0.05 s; see what it waits for, or let open return a larger timeout, in seconds`,
    });
    await expect((await openEnvironment(`module:${file}#unmade`)).create()).rejects.toThrow(/#unmade: create has not settled/);
    const clinging = await (await openEnvironment(`module:${file}#clinging`)).create();
    await expect(clinging.expertAction?.()).rejects.toThrow(/#clinging: expertAction has not settled within 0.05 s/);
    await expect(clinging.planLength?.()).rejects.toThrow(/#clinging: planLength has not settled within 0.05 s/);
    expect(stuck.expertAction).toBeUndefined();
    await clinging.close(); // given up
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

describe('an environment in its shortest form', () => {
  const SHORT = `
import { right } from './rules.mjs';
export const environment = {
  name: 'short',
  open: () => ({
    taskAliases: ['3', '4'],
    create() {
      let asked = 0;
      return {
        reset({ alias }) { asked = Number(alias); return \`Is \${alias} even?\`; },
        step: (action) => ({ observation: 'So.', reward: action === 'nan' ? NaN : Number(right(asked, action)), terminated: true }),
      };
    },
  }),
};`;
  const RULES = "export const right = (asked, action) => (asked % 2 === 0) === (action === 'yes');";
  const given = async (name: string, rules = RULES) => {
    const place = join(folder, name);
    await mkdir(place, { recursive: true });
    await writeFile(join(place, 'rules.mjs'), rules);
    await writeFile(join(place, 'short.mjs'), SHORT);
    return join(place, 'short.mjs');
  };

  test('what a module leaves out has its usual value, and a number is the reward that a step earned', async () => {
    const environment = await (await openEnvironment(await given('one'))).create();
    expect(await environment.reset({ alias: '4', seed: 0 })).toEqual({
      instruction: '',
      observation: 'Is 4 even?',
      goal: 'Is 4 even?',
      depth: null,
      split: null,
      admissibleActions: null,
      stateHash: null,
    });
    expect(await environment.step('yes')).toEqual({
      observation: 'So.',
      reward: { value: 1, raw: 1, scale: 1, kind: 'delta' },
      terminated: true,
      truncated: false,
      success: null,
      executable: true,
      admissibleActions: null,
      stateHash: null,
    });
    expect(environment.parse('Thought: even.\nAction: yes')).toMatchObject({ thought: 'even.', action: 'yes' });
    await expect(environment.step('nan')).rejects.toThrow('reward.value must be a finite number');
    await environment.close();
  });

  test('the fingerprint changes with a file that the module imports', async () => {
    const [same, again] = await Promise.all([given('two'), given('three')].map(async (file) => openEnvironment(await file)));
    const other = await openEnvironment(await given('four', `${RULES} // otherwise`));
    expect(again?.fingerprint).toBe(same?.fingerprint);
    expect(other.fingerprint).not.toBe(same?.fingerprint);
  });

  test('a package that is installed is an environment, known by all its files', async () => {
    const home = process.cwd();
    const installed = async (rules: string) => {
      const project = await mkdtemp(join(folder, 'project-'));
      const place = join(project, 'node_modules', '@mine', 'short');
      await mkdir(join(place, 'src'), { recursive: true });
      await writeFile(
        join(place, 'package.json'),
        '{"name":"@mine/short","exports":{"import":"./src/short.ts"},"type":"module"}',
      );
      await writeFile(join(place, 'src', 'rules.mjs'), rules);
      await writeFile(join(place, 'src', 'short.ts'), `const typed: number = 1;\n${SHORT}`);
      process.chdir(project);
      return openEnvironment('@mine/short').finally(() => process.chdir(home));
    };
    const kind = await installed(RULES);
    expect([kind.name, kind.taskAliases]).toEqual(['short', ['3', '4']]);
    expect(await (await kind.create()).reset({ alias: '3', seed: 0 })).toMatchObject({ observation: 'Is 3 even?' });
    expect((await installed(`${RULES} // otherwise`)).fingerprint).not.toBe(kind.fingerprint);
    await expect(openEnvironment('npm:none-of-these')).rejects.toThrow('no package none-of-these is installed in');
  });
});

test.each([
  ['./guess.ts', { environment: 'module', file: './guess.ts' }],
  ['guess.mjs#bare;word=fig', { environment: 'module', file: 'guess.mjs#bare', word: 'fig' }],
  ['npm:my-env#bare', { environment: 'module', file: 'npm:my-env#bare' }],
  ['./guess.py#Guess;timeout=5', { environment: 'python', file: './guess.py#Guess', timeout: 5 }],
  ['http://127.0.0.1:8900;timeout=5', { environment: 'server', url: 'http://127.0.0.1:8900', timeout: 5 }],
  ['module:./guess.ts', { environment: 'module', file: './guess.ts' }],
])('the path, package or address %s stands for itself', (text, address) => {
  expect(parseEnvironment(text)).toMatchObject(address);
});

test('an unknown name is refused with the names that there are', async () => {
  await expect(openEnvironment('guess')).rejects.toThrow(`there is no environment "guess"; name ${ENVIRONMENT_FORMS}`);
  expect(ENVIRONMENT_FORMS).toBe(
    'textcraft[:FOLDER], search-qa[:KEY=VALUE;…], tool-env[:KEY=VALUE;…], chat[:KEY=VALUE;…], echo[:CHARACTERS], agentgym:SERVER@URL[?OPTION=VALUE&…]#TASKS, module:FILE[#EXPORT][;KEY=VALUE;…], python:FILE.py[#CLASS][;timeout=SECONDS], server:URL[;timeout=SECONDS], scienceworld[:KEY=VALUE;…], alfworld[:KEY=VALUE;…]; or your own by ./FILE.ts, ./FILE.py, npm:PACKAGE, http://HOST:PORT (options: espalier environments)',
  );
});
