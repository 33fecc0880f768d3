import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { environmentOf } from '../testing/crashing-run.ts';
import { type CuttableProxy, startCuttableProxy } from '../testing/cuttable-proxy.ts';
import { useTestPlatform } from '../testing/use-test-platform.ts';
import { killRunning, startProcess } from '../testing/worker-process.ts';

const platform = useTestPlatform({ opened: 'before-each', projector: 'none' });
let proxy: CuttableProxy;
let env: Readonly<Record<string, string>>;
beforeEach(async () => {
  env = environmentOf(platform);
  proxy = await startCuttableProxy(platform.databaseUrl);
});
afterEach(async () => {
  await killRunning();
  await proxy.close();
});

test('a command that begins while the database is away waits for it, and is done when it is back', async () => {
  proxy.cut();
  const args = ['--json', 'collect', '--tasks', '1', '--rollouts', '1'];
  const child = startProcess('src/cli/main.ts', args, { ...env, DATABASE_URL: proxy.url });
  await child.saying(/waiting: cannot reach Postgres at .*; continues when it has passed, Ctrl-C ends it/);
  proxy.restore();
  expect(await child.ended).toBe(0);
  expect(JSON.parse(child.stdout())).toMatchObject({ state: 'completed', rollouts: 1 });
});

test('a command that reads begins again where the database goes away in the middle', async () => {
  const isCut = proxy.cutAt({ messages: [/from "?runs"?\b/], fate: 'unanswered' }, 30_000);
  const child = startProcess('src/cli/main.ts', ['--json', 'status'], { ...env, DATABASE_URL: proxy.url });
  expect(await isCut).toBe(true);
  expect(await child.ended).toBe(0);
  expect(child.stderr()).toMatch(/waiting: .*; continues when it has passed/);
  expect(JSON.parse(child.stdout())).toMatchObject({ runs: [] });
});

test.each([
  ['replay projections', ['replay', 'projections', '--name', 'runs'], { outcome: 'equal' }],
  ['rebuild', ['rebuild', 'runs'], { kind: 'swapped' }],
])('%s goes on where the database goes away while it compares', async (_name, args, result) => {
  const isCut = proxy.cutAt({ messages: [/hashtextextended/], fate: 'unanswered' }, 30_000);
  const child = startProcess('src/cli/main.ts', ['--json', ...args], { ...env, DATABASE_URL: proxy.url });
  expect(await isCut).toBe(true);
  const code = await child.ended;
  expect({ code, stderr: child.stderr() }).toEqual({
    code: 0,
    stderr: expect.stringMatching(/waiting: .*; continues when it has passed/),
  });
  expect(JSON.parse(child.stdout())).toMatchObject(result);
});

test('an import goes on behind what it had appended when the database went away', async () => {
  const file = join(platform.home, 'dialogues.jsonl');
  const rows = Array.from({ length: 150 }, (_, i) => ({
    messages: [
      { role: 'user', content: `What is ${i}?` },
      { role: 'assistant', content: `${i}` },
    ],
  })); // of some six events: more than one append of 500
  await writeFile(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  const isCut = proxy.cutAt({ messages: [/select log_write/], fate: 'unanswered' }, 30_000);
  const child = startProcess('src/cli/main.ts', ['--json', 'import', file], { ...env, DATABASE_URL: proxy.url });
  expect(await isCut).toBe(true);
  const code = await child.ended;
  expect({ code, stderr: child.stderr() }).toMatchObject({ code: 0 });
  expect(JSON.parse(child.stdout())).toMatchObject({ trees: 150, rollouts: 150, steps: 150 });
  const counted = await platform.database.db
    .selectFrom('events')
    .select(({ fn }) => [fn.countAll<number>().as('all'), fn.count<number>('entityId').distinct().as('distinct')])
    .where('type', '=', 'StepTaken')
    .execute();
  expect(counted).toEqual([{ all: 150, distinct: 150 }]);
});

test.each([
  [
    'a database',
    { DATABASE_URL: 'postgres://me:secret@127.0.0.1:9/x' },
    /cannot reach Postgres at postgres:\/\/me@127\.0\.0\.1:9\/x: connect ECONNREFUSED.*check DATABASE_URL/,
  ],
  ['a broker', { KAFKA_BROKERS: '127.0.0.1:9' }, /Kafka at 127\.0\.0\.1:9.*check KAFKA_BROKERS/],
])(
  'Ctrl-C ends a command that waits for %s where nobody is; its line names the remedy and no password',
  async (_name, changes, message) => {
    const child = startProcess('src/cli/main.ts', ['status'], { ...env, ...changes });
    await child.saying(message);
    child.kill('SIGINT');
    expect(await child.ended).toBe(130);
    expect(child.stderr()).not.toContain('secret');
  },
);
