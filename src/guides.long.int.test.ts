import type { ChildProcess } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from './testing/database.ts';
import { CHECKOUT_PAGES, readPage } from './testing/guides/pages.ts';
import { type GuideStep, readGuide } from './testing/guides/read-guide.ts';
import { runGuide } from './testing/guides/run-guide.ts';
import { WorkCopy } from './testing/guides/work-copy.ts';
import { worldsForTests } from './testing/python.ts';

const worlds = await worldsForTests();
const GUIDES = CHECKOUT_PAGES.filter((name) => worlds.kind === 'found' || name !== 'guides/published-environments');

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
    steps.set(guide, readGuide(readPage(guide)));
    for (const step of steps.get(guide) ?? []) await copy.apply(step);
  }
  // What is generated from other files is there before anything starts.
  await run(GUIDES.flatMap(commandsOf).filter(isGenerator));
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
    expect(await run(commands)).toHaveLength(commands.length);
    expect(commands.length).toBeGreaterThan(0);
  });
});

type Command = Extract<GuideStep, { kind: 'run' }>;

function commandsOf(guide: string): readonly Command[] {
  return (steps.get(guide) ?? []).filter((step) => step.kind === 'run');
}

function isGenerator({ command }: Command): boolean {
  return /^npm run -s |^npx tsx /.test(command);
}

/** Runs commands as they are written, but for where the server listens and without npx in between. */
function run(commands: readonly Command[]): Promise<readonly string[]> {
  const adapted = (text: string) =>
    text.replaceAll('http://127.0.0.1:4000', url).replaceAll('npx espalier ', 'node bin/espalier.js ');
  return runGuide(commands, copy, { adapted, words: {}, env });
}
