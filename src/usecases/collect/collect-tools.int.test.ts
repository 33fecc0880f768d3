import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../events/new-id.ts';
import { collectLetters, replyAboutLetters, returnOfRun, rewardsOfRun } from '../../testing/letters-run.ts';
import { type OpenAiServer, startOpenAiServer } from '../../testing/openai-server.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';

const rollouts = 2;
const platform = useTestPlatform({ opened: 'once', projector: 'running' });
let server: OpenAiServer;
beforeAll(async () => {
  server = await startOpenAiServer({ reply: replyAboutLetters });
});
afterAll(() => server.close());

const collected = (part: { runId?: string; mode?: 'new' | 'resume'; stopAfter?: number } = {}) =>
  collectLetters(platform, { baseUrl: server.url, rollouts, ...part });

test('calls of one’s own tools are events, process and outcome rewards are separate, and the end has its reason', async () => {
  const runId = await collected();
  const { db } = platform.database;
  const calls = await db
    .selectFrom('toolCalls')
    .innerJoin('trees', 'trees.treeId', 'toolCalls.treeId')
    .innerJoin('steps', 'steps.stepId', 'toolCalls.stepId')
    .select(['depth', 'tool', 'arguments', 'output', 'outcome'])
    .where('runId', '=', runId)
    .orderBy('depth')
    .execute();
  const [wrong, , right] = calls;
  expect(calls).toEqual([wrong, wrong, right, right]);
  expect([wrong, right]).toEqual([
    {
      depth: 1,
      tool: 'count_letter',
      arguments: '{"word": 5}',
      output: expect.stringContaining("Error: invalid arguments: arguments must have required property 'letter'"),
      outcome: 'error',
    },
    { depth: 2, tool: 'count_letter', arguments: '{"word": "strawberry", "letter": "r"}', output: '3', outcome: 'ok' },
  ]);
  const outcome = { depth: 3, component: 'environment', value: 1, scorer: './examples/count-letters.ts#honest', revisions: 0 };
  const process = { depth: 2, component: 'tool', value: 0.1, scorer: 'tools-v0.1', revisions: 0 };
  expect(await rewardsOfRun(platform.database.db, runId)).toEqual([
    ...Array.from({ length: rollouts }, () => outcome),
    ...Array.from({ length: rollouts }, () => process),
  ]);
  expect(await returnOfRun(platform.database.db, runId)).toBe(1.1);
  const ends = await db.selectFrom('rollouts').select(['outcome', 'success', 'reason']).where('runId', '=', runId).execute();
  const end = { outcome: 'terminated', success: true, reason: 'final_answer' };
  expect(ends).toEqual([end, end]);
  expect(server.requests.at(-1)?.body?.messages.map(({ role }) => role)).toContain('user');
});

test('a stopped run resumes after its last call, and no call is recorded twice or quarantined', async () => {
  const runId = newId();
  for (const stopAfter of [1, 2, 4]) await collected({ runId, mode: stopAfter === 1 ? 'new' : 'resume', stopAfter });
  await collected({ runId, mode: 'resume' });
  const { db } = platform.database;
  const calls = await db
    .selectFrom('toolCalls')
    .innerJoin('trees', 'trees.treeId', 'toolCalls.treeId')
    .select(['stepId', 'ordinal'])
    .where('runId', '=', runId)
    .execute();
  expect(new Set(calls.map(({ stepId: step, ordinal }) => `${step} ${ordinal}`)).size).toBe(2 * rollouts);
  expect(calls).toHaveLength(2 * rollouts);
  expect(await rewardsOfRun(platform.database.db, runId)).toHaveLength(2 * rollouts);
  expect(await db.selectFrom('quarantine').select('reason').execute()).toEqual([]);
  expect(await db.selectFrom('anomalies').select('detail').execute()).toEqual([]);
});
