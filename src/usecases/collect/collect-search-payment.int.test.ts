import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { TEMPLATE_VERSIONS } from '../../domain/prompts/compose-prompt.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { newId } from '../../events/new-id.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { type OpenAiServer, startOpenAiServer } from '../../testing/openai-server.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { collect } from './collect.ts';
import type { CollectPlan } from './plan.ts';
import type { PromptPlan } from './prompting/prompt-plan.ts';

const platform = useTestPlatform({ opened: 'once', projector: 'running' });
let server: OpenAiServer;
beforeAll(async () => {
  // Of the replies at a node the second has no label, which the template asks for.
  server = await startOpenAiServer({
    reply: (_, choice) => (choice === 0 ? 'Thought: I look.\nAction: inventory' : 'get 1 oak log'),
  });
});
afterAll(async () => {
  await server.close();
});

const text: PromptPlan = {
  template: { name: 'textcraft', version: TEMPLATE_VERSIONS.textcraft },
  mode: 'text',
  historyLength: 50,
  image: null,
  compression: null,
  invalidPenalty: 0.25,
};
const image: PromptPlan = {
  ...text,
  mode: 'image',
  image: { profile: 'crisp', vision: 'qwen2.5-vl', emptyHistory: 'no-image' },
  compression: { candidateFactor: 1.2, reward: 'factor', lambda: 0.01, mu: 0, every: 5, iteration: 5 },
};

async function searched(prompt: PromptPlan, mode: 'new' | 'resume' = 'new'): Promise<string> {
  const runId = newId();
  const plan: CollectPlan = {
    environment: 'textcraft',
    taskSeed: 0,
    temperature: 1,
    maxSteps: 8,
    prompt,
    policy: JSON.stringify({ kind: 'openai', baseUrl: server.url, model: 'stand-in' }),
    tasks: [{ alias: '45', rollouts: 1, branching: 'root' }],
    search: { iterations: 3, candidates: 2, maxDepth: 2, exploration: 0.25 },
  };
  const signal = new AbortController().signal;
  await collect(platform, { runId, name: 'r', seed: 1, plan, concurrency: 1, signal, mode });
  await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 30_000 });
  return runId;
}

test('a search penalises a malformed reply once at its step, however many walks share it', async () => {
  const runId = await searched(text);
  const { db } = platform.database;
  const steps = await db
    .selectFrom('steps')
    .innerJoin('trees', 'trees.treeId', 'steps.treeId')
    .select(['steps.stepId', 'wellFormatted'])
    .where('trees.runId', '=', runId)
    .where('steps.depth', '>', 0)
    .execute();
  const broken = steps.filter((step) => !step.wellFormatted).map((step) => step.stepId);
  expect([broken.length > 1, broken.length < steps.length]).toEqual([true, true]);
  const paid = await db
    .selectFrom('rewards')
    .innerJoin('trees', 'trees.treeId', 'rewards.treeId')
    .select(['stepId', 'value'])
    .where('trees.runId', '=', runId)
    .where('component', '=', 'invalid-action')
    .execute();
  expect(paid.map((reward) => reward.value)).toEqual(broken.map(() => -0.25));
  expect(new Set(paid.map((reward) => reward.stepId))).toEqual(new Set(broken));
});

test.each(['new', 'resume'] as const)(
  'a search that rewards compression is refused before anything is recorded (%s)',
  async (mode) => {
    const before = await platform.log.ends(TOPICS);
    await expect(searched(image, mode)).rejects.toMatchObject({
      name: 'RunRefused',
      message: expect.stringMatching(/^a search cannot pay for compression by factor: .*--compression none/),
    });
    expect(await platform.log.ends(TOPICS)).toEqual(before);
  },
);
