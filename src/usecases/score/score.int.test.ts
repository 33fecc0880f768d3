import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { TOPICS } from '../../events/catalogue.ts';
import { newId } from '../../events/new-id.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { type OpenAiServer, startOpenAiServer } from '../../testing/openai-server.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { type Collection, collect } from '../collect/collect.ts';
import { score } from './score.ts';

// The example of docs/guides/tools-and-rewards.md, as it is written there.
const ENVIRONMENT =
  'tool-env:profile=v0.1;tools=calculator,./examples/count-letters.ts;reward=./examples/count-letters.ts#honest;tasks=./examples/letters.jsonl;max-turns=4';
const COUNT =
  '<think>I count.</think>\n<tool_call>{"name": "count_letter", "arguments": {"word": "strawberry", "letter": "r"}}</tool_call>';
const BROKEN = '<think>I guess.</think>\n<tool_call>{"name": "count_letter", "arguments": {"word": 5}}</tool_call>';
const ANSWER = '<think>It is so.</think>\n<answer>3</answer>';

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
async function collected(): Promise<string> {
  const plan = {
    environment: ENVIRONMENT,
    tasks: [{ alias: '1', rollouts: 1, branching: 'root' as const }],
    taskSeed: 0,
    policy: JSON.stringify({ kind: 'openai', baseUrl: server.url, model: 'stand-in', policyVersion: 1 }),
    temperature: 1,
    maxSteps: 10,
    search: null,
  };
  const { signal } = new AbortController();
  const collection: Collection = { runId: newId(), name: 'tools', seed: 1, plan, concurrency: 1, signal, mode: 'new' };
  await collect(platform, collection);
  await settled();
  return collection.runId;
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

test('a reward scored later is assigned once, then revised by another scorer, and the return includes its present value', async () => {
  const runId = await collected();
  const { signal } = new AbortController();
  const scoreWith = async (scorer: string, component: string | null = null) => {
    const counts = await score(platform, { runId, scorer, component, environment: null, signal });
    await settled();
    return counts;
  };
  expect(await scoreWith('answer-f1')).toEqual({
    scorer: 'answer-f1@1',
    component: 'answer-f1',
    trees: 1,
    assigned: 1,
    revised: 0,
    standing: 0,
  });
  expect(await scoreWith('answer-f1')).toMatchObject({ assigned: 0, revised: 0, standing: 1 });
  expect(await returnOf(runId)).toBe(2.1);
  expect(await scoreWith('qa-em-format@seed-1', 'environment')).toMatchObject({ assigned: 0, revised: 1, standing: 0 });
  expect(await scoreWith('qa-em-format@seed-1', 'environment')).toMatchObject({ assigned: 0, revised: 0, standing: 1 });
  expect(await scoreWith('exact-match', 'environment')).toMatchObject({ revised: 1 });
  expect(await scoreWith('qa-em-format@seed-1', 'environment')).toMatchObject({ revised: 1 });
  // Two turns with calls and the last are in form: −1 + 1 + 1.
  expect(await rewardsOf(runId)).toMatchObject([
    { component: 'answer-f1', value: 1, depth: null, revisions: 0 },
    { component: 'environment', value: 1, depth: 3, revisions: 3 },
    { component: 'tool', value: 0.1, depth: 2, revisions: 0 },
  ]);
});

test('an unknown scorer, an unknown run and a world without a ground truth are refused with the known ones', async () => {
  const { signal } = new AbortController();
  const asked = { runId: newId(), scorer: 'exact-match', component: null, environment: null, signal };
  await expect(score(platform, { ...asked, scorer: 'nope' })).rejects.toThrow('there are qa-em-format@legacy-1, ');
  await expect(score(platform, asked)).rejects.toThrow('there is no run');
  const runId = await collected();
  await expect(score(platform, { ...asked, runId, environment: 'textcraft' })).rejects.toThrow('knows no ground truth');
  expect(await score(platform, { ...asked, runId, scorer: 'invalid-action' })).toMatchObject({ assigned: 1 });
});
