import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Platform } from '../platform/open-platform.ts';
import { environmentOf } from '../testing/crashing-run.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { type OpenAiServer, startOpenAiServer } from '../testing/openai-server.ts';
import { killRunning, runEspalier } from '../testing/worker-process.ts';

const CALL = '<think>I calculate.</think>\n<tool_call>{"name": "calculator", "arguments": {"expression": "6*7"}}</tool_call>';
const RUN = '33333333-4444-4555-8666-777777777777';

let platform: Platform & { readonly home: string };
let env: Readonly<Record<string, string>>;
let server: OpenAiServer;
beforeAll(async () => {
  platform = await openTestPlatform();
  env = environmentOf(platform);
  server = await startOpenAiServer({
    reply: ({ messages }) => (messages.some(({ role }) => role === 'assistant') ? '<think>\u001b[2J</think>It is 42.' : CALL),
  });
});
afterAll(async () => {
  await killRunning();
  await server.close();
  await platform.close();
});

const policy = () => `openai:stand-in@${server.url}`;

test('one message is answered with the tools, shown without what a terminal would act on, and recorded like a rollout', async () => {
  const asked = ['chat', '--policy', policy(), '--tool', 'calculator', '--tool-profile', 'v0.1', '--run', RUN];
  const { code, stdout } = await runEspalier([...asked, '--message', 'How much is 6*7?'], env);
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /^tool calculator \(ok, \d+ ms\)\n {2}\{"expression": "6\*7"\}\n {4}\{"result": 42\}\nreward tool 0\.4/m,
  );
  expect(stdout).toContain('\\u001b[2J');
  expect(stdout).not.toContain('\u001b');
  expect(stdout).toContain(`run ${RUN} completed: 2 steps`);
  const { db } = platform.database;
  const steps = await db
    .selectFrom('steps')
    .innerJoin('trees', 'trees.treeId', 'steps.treeId')
    .select(['depth', 'observation', 'termination'])
    .where('trees.runId', '=', RUN)
    .orderBy('depth')
    .execute();
  expect(steps).toEqual([
    { depth: 0, observation: 'How much is 6*7?', termination: 'none' },
    { depth: 1, observation: '<tool_response>\n{"result": 42}\n</tool_response>', termination: 'none' },
    { depth: 2, observation: '', termination: 'terminated' },
  ]);
  const rollouts = await db
    .selectFrom('rollouts')
    .innerJoin('trees', 'trees.treeId', 'rollouts.treeId')
    .select(['outcome', 'success'])
    .where('trees.runId', '=', RUN)
    .execute();
  expect(rollouts).toEqual([{ outcome: 'terminated', success: null }]); // a chat has no task that it could succeed in
  const again = await runEspalier(['replay', 'environment', '--run', RUN], env);
  expect([again.code, again.stdout]).toEqual([0, expect.stringMatching(/^equal: environment/)]);
});

test('a message to an environment is the end of its opening, and the policy then acts alone to the end', async () => {
  const asked = ['chat', '--policy', 'planner', '--environment', 'textcraft', '--message', 'Take your time.', '--json'];
  const { code, stdout } = await runEspalier(asked, env);
  const lines = stdout
    .trim()
    .split('\n')
    .map(
      (line) => JSON.parse(line) as { kind?: string; run?: string; state?: string; terminated?: boolean; observation?: string },
    );
  expect([code, lines[0]?.kind, lines.at(-1)?.state]).toEqual([0, 'opening', 'completed']);
  expect(lines.at(-2)).toMatchObject({ kind: 'step', terminated: true, success: true });
  const root = await platform.database.db
    .selectFrom('steps')
    .innerJoin('trees', 'trees.treeId', 'steps.treeId')
    .select('observation')
    .where('runId', '=', lines.at(-1)?.run ?? '')
    .where('depth', '=', 0)
    .executeTakeFirstOrThrow();
  expect(root.observation).toBe(`${lines[0]?.observation}\n\nUser: Take your time.`);
});

describe('what cannot be talked with', () => {
  const refusals: readonly (readonly [readonly string[], string])[] = [
    [['chat'], '--policy is missing'],
    [
      ['chat', '--policy', 'random', '--tool', 'search', '--environment', 'textcraft'],
      '--tool and --tool-profile are for a chat',
    ],
    [['chat', '--policy', 'random', '--tool', 'a,b'], '--tool: "a,b" holds a comma'],
    [['chat', '--policy', 'random', '--message', 'hello'], 'the policy random cannot act in chat'],
    [['collect', '--policy', 'openai:m@http://127.0.0.1:9', '--environment', 'chat:tools=calculator'], 'use espalier chat'],
    [['replay', 'fork', '--from', 'last'], 'is a chat'],
  ];
  test.each(refusals)('%j is refused with the remedy', async (args, message) => {
    const last = await platform.database.db
      .selectFrom('steps')
      .innerJoin('trees', 'trees.treeId', 'steps.treeId')
      .select('stepId')
      .where('trees.runId', '=', RUN)
      .where('depth', '=', 1)
      .executeTakeFirst();
    const { code, stderr } = await runEspalier(
      args.map((each) => (each === 'last' ? (last?.stepId ?? '') : each)),
      env,
    );
    expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
  });
});
