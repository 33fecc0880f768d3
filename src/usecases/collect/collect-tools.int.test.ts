import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { TOPICS } from '../../events/catalogue.ts';
import { newId } from '../../events/new-id.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { type OpenAiServer, startOpenAiServer } from '../../testing/openai-server.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { type Collection, collect } from './collect.ts';

// The example of docs/guides/tools-and-rewards.md, as it is written there.
const ENVIRONMENT =
  'tool-env:profile=v0.1;tools=calculator,./examples/count-letters.ts;reward=./examples/count-letters.ts#honest;tasks=./examples/letters.jsonl;max-turns=4';
const COUNT =
  '<think>I count.</think>\n<tool_call>{"name": "count_letter", "arguments": {"word": "strawberry", "letter": "r"}}</tool_call>';
const BROKEN = '<think>I guess.</think>\n<tool_call>{"name": "count_letter", "arguments": {"word": 5}}</tool_call>';
const ANSWER = '<think>It is so.</think>\n<answer>3</answer>';

const rollouts = 2;
const platform = useTestPlatform({ opened: 'once', projector: 'running' });
let server: OpenAiServer;
beforeAll(async () => {
  server = await startOpenAiServer({
    reply: ({ messages }) => [BROKEN, COUNT, ANSWER][messages.filter(({ role }) => role === 'assistant').length] ?? ANSWER,
  });
});
afterAll(async () => {
  await server.close();
});

const settled = async () => waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 30_000 });
async function collected(runId = newId(), mode: 'new' | 'resume' = 'new', stopAfter = Number.POSITIVE_INFINITY): Promise<string> {
  const plan = {
    environment: ENVIRONMENT,
    tasks: [{ alias: '1', rollouts, branching: 'root' as const }],
    taskSeed: 0,
    policy: JSON.stringify({ kind: 'openai', baseUrl: server.url, model: 'stand-in', policyVersion: 1 }),
    temperature: 1,
    maxSteps: 10,
    search: null,
  };
  const stopping = new AbortController();
  const progress = ({ steps }: { steps: number }) => (steps >= stopAfter ? stopping.abort() : undefined);
  const collection: Collection = { runId, name: 'tools', seed: 1, plan, concurrency: 1, signal: stopping.signal, mode, progress };
  await collect(platform, collection);
  await settled();
  return runId;
}
const rewardsOf = (runId: string) =>
  platform.database.db
    .selectFrom('rewards')
    .innerJoin('trees', 'trees.tree_id', 'rewards.tree_id')
    .leftJoin('steps', 'steps.step_id', 'rewards.step_id')
    .select(['depth', 'component', 'value', 'scorer', 'revisions'])
    .where('run_id', '=', runId)
    .orderBy('component')
    .orderBy('depth')
    .execute();
const returnOf = async (runId: string) =>
  (await platform.database.db.selectFrom('returns').select('value').where('run_id', '=', runId).executeTakeFirst())?.value;

test('calls of one’s own tools are events, process and outcome rewards are separate, and the end has its reason', async () => {
  const runId = await collected();
  const { db } = platform.database;
  const calls = await db
    .selectFrom('tool_calls')
    .innerJoin('trees', 'trees.tree_id', 'tool_calls.tree_id')
    .innerJoin('steps', 'steps.step_id', 'tool_calls.step_id')
    .select(['depth', 'tool', 'arguments', 'output', 'outcome'])
    .where('run_id', '=', runId)
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
  expect(await rewardsOf(runId)).toEqual([
    ...Array.from({ length: rollouts }, () => outcome),
    ...Array.from({ length: rollouts }, () => process),
  ]);
  expect(await returnOf(runId)).toBe(1.1);
  const ends = await db.selectFrom('rollouts').select(['outcome', 'success', 'reason']).where('run_id', '=', runId).execute();
  const end = { outcome: 'terminated', success: true, reason: 'final_answer' };
  expect(ends).toEqual([end, end]);
  expect(server.requests.at(-1)?.body?.messages.map(({ role }) => role)).toContain('user');
});

test('a stopped run resumes after its last call, and no call is recorded twice or quarantined', async () => {
  const runId = newId();
  for (const stopAfter of [1, 2, 4]) await collected(runId, stopAfter === 1 ? 'new' : 'resume', stopAfter);
  await collected(runId, 'resume');
  const { db } = platform.database;
  const calls = await db
    .selectFrom('tool_calls')
    .innerJoin('trees', 'trees.tree_id', 'tool_calls.tree_id')
    .select(['step_id', 'ordinal'])
    .where('run_id', '=', runId)
    .execute();
  expect(new Set(calls.map(({ step_id: step, ordinal }) => `${step} ${ordinal}`)).size).toBe(2 * rollouts);
  expect(calls).toHaveLength(2 * rollouts);
  expect(await rewardsOf(runId)).toHaveLength(2 * rollouts);
  expect(await db.selectFrom('quarantine').select('reason').execute()).toEqual([]);
  expect(await db.selectFrom('anomalies').select('detail').execute()).toEqual([]);
});
