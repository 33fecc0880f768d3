import type { ChildProcess } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from './testing/database.ts';
import { type GuideStep, patternOf, readGuide } from './testing/guides/read-guide.ts';
import { WorkCopy } from './testing/guides/work-copy.ts';
import { worldsForTests } from './testing/python.ts';

const FOLDER = new URL('../docs/', import.meta.url);
const TUTORIAL = 'tutorials/your-own-environment';
const worlds = await worldsForTests();
const GUIDES = readdirSync(new URL('guides/', FOLDER))
  .filter((name) => /^(add-.*|published-environments)\.md$/.test(name) && name !== 'add-your-own.md') // cli/add-your-own.long.int.test.ts
  .map((name) => `guides/${name.replace('.md', '')}`)
  .filter((name) => worlds.kind === 'found' || name !== 'guides/published-environments')
  .concat(TUTORIAL);

let copy: WorkCopy;
let database: TestDatabase;
let env: Readonly<Record<string, string>>;
let server: ChildProcess | undefined;
let url = '';
const steps = new Map<string, readonly GuideStep[]>();
beforeAll(async () => {
  copy = await WorkCopy.make();
  database = await createTestDatabase();
  env = { DATABASE_URL: database.url, ESPALIER_HOME: `${copy.folder}/.espalier`, ESPALIER_PARTITIONS: '4', ESPALIER_PORT: '0' };
  if (worlds.kind === 'found') env = { ...env, ESPALIER_WORLDS_PYTHON: worlds.python };
  for (const guide of GUIDES) {
    const markdown = await readFile(new URL(`${guide}.md`, FOLDER), 'utf8');
    steps.set(guide, readGuide(markdown));
    for (const step of steps.get(guide) ?? []) await copy.apply(step);
  }
  // What is generated from other files is there before anything starts.
  for (const { command } of commandsOf('all').filter(isGenerator)) await runWell(command);
  const up = copy.start('exec node bin/espalier.js up', env);
  server = up;
  url = await new Promise((resolve, reject) => {
    let said = '';
    up.stdout.on('data', (chunk: Buffer) => {
      said += chunk;
      const [found] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? [];
      if (found) resolve(found);
    });
    up.stderr.on('data', (chunk: Buffer) => {
      said += chunk;
    });
    up.once('close', (code) => reject(new Error(`espalier up ended with ${code}:\n${said}`)));
  });
});
afterAll(async () => {
  if (server && server.exitCode === null) {
    const ended = new Promise((resolve) => server?.once('close', resolve));
    server.kill('SIGTERM');
    await ended;
  }
  await database.drop();
  await copy.remove();
});

describe('the guides', () => {
  test('together, what they add has no type error', async () => {
    const { code, stdout } = await copy.run('node_modules/.bin/tsc --noEmit');
    expect([code, stdout]).toEqual([0, '']);
  });

  test.each(GUIDES)('every command of %s prints what the page shows', async (guide) => {
    const commands = commandsOf(guide).filter((step) => !isGenerator(step));
    expect(commands.length).toBeGreaterThan(0);
    const said: string[] = [];
    for (const { command, output } of commands) {
      said.push(await runWell(command));
      expect(said.at(-1)).toMatch(patternOf(output));
    }
    if (guide === TUTORIAL) expectImprovement(said);
  });
});

function commandsOf(guide: string): readonly Extract<GuideStep, { kind: 'run' }>[] {
  const chosen = guide === 'all' ? [...steps.values()].flat() : (steps.get(guide) ?? []);
  return chosen.filter((step) => step.kind === 'run');
}

function isGenerator({ command }: { readonly command: string }): boolean {
  return /^npm run -s |^npx tsx /.test(command);
}

/** What was trained does better on tasks that it never saw than it did untrained, by the tables of training and evaluation. */
function expectImprovement(said: readonly string[]): void {
  const percents = (text: string, row: RegExp) => Number(row.exec(text)?.[1]);
  const [trained = '', evaluated = ''] = said.slice(-2);
  const before = percents(trained, /^ +0 +([\d.]+) /m);
  expect(percents(trained, /^ +5 +([\d.]+) /m)).toBeGreaterThan(before + 20);
  expect(percents(evaluated, /^success +([\d.]+)%/m)).toBeGreaterThan(before + 20);
}

/** Runs a command as it is written, but for where the server listens and without npx in between; returns what it printed. */
async function runWell(command: string): Promise<string> {
  const here = command.replaceAll('http://127.0.0.1:4000', url).replaceAll('npx espalier ', 'node bin/espalier.js ');
  const { code, stdout, stderr } = await copy.run(here, env);
  expect({ command, code, stderr: code === 0 ? '' : stderr }).toEqual({ command, code: 0, stderr: '' });
  return stdout;
}
