import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Platform } from '../platform/open-platform.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { type OpenAiServer, startOpenAiServer } from '../testing/openai-server.ts';
import { until } from '../testing/until.ts';
import { type ChildProcess, killRunning, startProcess } from '../testing/worker-process.ts';

const RUN = '44444444-5555-4666-8777-888888888888';

let platform: Platform & { readonly home: string };
let env: Readonly<Record<string, string>>;
let server: OpenAiServer;
beforeAll(async () => {
  platform = await openTestPlatform();
  env = environmentOf(platform);
  server = await startOpenAiServer({ reply: ({ messages }) => `Reply ${messages.length}.` });
});
afterAll(async () => {
  await killRunning();
  await server.close();
  await platform.close();
});

const chat = (...args: readonly string[]) => startProcess('src/cli/main.ts', ['chat', ...args], env, 'typed');
const policy = () => ['--policy', `openai:stand-in@${server.url}`];
const shown = (child: ChildProcess, text: string) => until(() => child.stdout().includes(text));

const textsOf = (runId: string) =>
  platform.database.db
    .selectFrom('steps')
    .innerJoin('trees', 'trees.treeId', 'steps.treeId')
    .select(['response', 'observation'])
    .where('runId', '=', runId)
    .orderBy('depth')
    .execute();

test('a conversation that is killed while the person is asked goes on behind the reply, which the model is not asked for again', async () => {
  const killed = chat(...policy(), '--run', RUN);
  killed.type('Hello.\nAnd you?\n');
  await shown(killed, 'Reply 3.');
  killed.kill('SIGKILL');
  await killed.ended;
  const asked = server.requests.length;
  const resumed = chat('--resume', RUN);
  resumed.type('Bye.\n/end\n');
  expect(await resumed.ended).toBe(0);
  expect(resumed.stdout()).toContain('And you?'); // what was said before is shown
  expect(server.requests.length).toBe(asked + 1);
  expect(await textsOf(RUN)).toEqual([
    { response: '', observation: 'Hello.' },
    { response: 'Reply 1.', observation: 'And you?' },
    { response: 'Reply 3.', observation: 'Bye.' },
    { response: 'Reply 5.', observation: '' },
  ]);
});

test('a conversation that is reset is complete, and another one begins', async () => {
  const child = chat(...policy());
  child.type('One.\n/nonsense\n/reset\nTwo.\n/end\n');
  expect(await child.ended).toBe(0);
  expect(child.stderr()).toContain('there is no command /nonsense');
  const runs = [...child.stdout().matchAll(/^run (\S+) completed: 1 steps$/gm)].map(([, run = '']) => run);
  expect(runs).toHaveLength(2);
  expect((await textsOf(runs[1] ?? ''))[0]).toEqual({ response: '', observation: 'Two.' });
});

test('Ctrl-C leaves a run that goes on by the command that is named', async () => {
  const child = chat(...policy());
  child.type('Hello.\n');
  await shown(child, 'Reply 1.');
  child.kill('SIGINT');
  expect(await child.ended).toBe(130);
  expect(child.stdout()).toMatch(/^continue with: espalier chat --resume [0-9a-f-]{36}$/m);
});
