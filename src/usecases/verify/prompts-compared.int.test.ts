import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { TOPICS } from '../../events/catalogue.ts';
import { newId } from '../../events/new-id.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { type OpenAiServer, startOpenAiServer } from '../../testing/openai-server.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { collect } from '../collect/collect.ts';
import { replayEnvironment } from '../replay/replay-environment.ts';
import { replayScores } from '../score/replay-scores.ts';
import { verifyRecord } from './verify-record.ts';

const platform = useTestPlatform({ opened: 'once', projector: 'running' });
const signal = new AbortController().signal;
const STEPS = 3;
const runId = newId();
let server: OpenAiServer;
let steps: readonly { readonly stepId: string; readonly sha256: string }[];
beforeAll(async () => {
  server = await startOpenAiServer({ reply: ({ messages }) => `Thought: turn ${messages.length}\nAction: inventory` });
  await collect(platform, {
    runId,
    name: 'compared',
    seed: 1,
    concurrency: 1,
    signal,
    mode: 'new',
    plan: {
      environment: 'textcraft',
      tasks: [{ alias: '0', rollouts: 1, branching: 'root' as const }],
      taskSeed: 0,
      temperature: 1,
      maxSteps: STEPS,
      search: null,
      policy: JSON.stringify({ kind: 'openai', baseUrl: server.url, model: 'stand-in' }),
    },
  });
  await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 20_000 });
  const found = platform.database.db.selectFrom('prompts').select(['promptId as stepId', 'sha256']).where('runId', '=', runId);
  steps = await found.orderBy('logOffset').execute();
});
afterAll(() => server.close());

/** Runs something while the record says that another prompt was sent for the second step. */
async function tampered<T>(use: (stepId: string) => Promise<T>): Promise<T> {
  const { stepId, sha256 } = steps[1]!;
  const set = (digest: string) =>
    platform.database.db.updateTable('prompts').set({ sha256: digest }).where('promptId', '=', stepId).execute();
  await set('f'.repeat(64));
  try {
    return await use(stepId);
  } finally {
    await set(sha256);
  }
}

const replays = {
  environment: () => replayEnvironment(platform, { runId, environment: null, signal }),
  scores: () => replayScores(platform, { runId, asked: { kind: 'as-recorded' }, environment: null, signal }),
};

test.each(['environment', 'scores'] as const)(
  'a replay of %s compares the prompt of every step with what was sent',
  async (name) => {
    const before = await replays[name]();
    expect(before.outcome).toBe('equal');
    expect(before.compared).toBeGreaterThan(STEPS);
    await tampered(async (stepId) => {
      const report = await replays[name]();
      expect(report).toMatchObject({ outcome: 'differs', compared: before.compared });
      const [first] = report.differences;
      expect(first).toMatchObject({ stepId, field: 'prompt', recorded: expect.stringContaining('ffff') });
      expect(first?.replayed).toContain(`the prompt of step ${stepId} cannot be read`);
      // What continues it is unreadable for the same reason.
      expect(report.differences.map((one) => one.stepId)).toEqual(steps.slice(1).map((step) => step.stepId));
    });
  },
);

test('verify counts the prompts of an intact record, and names the step of one that was changed', async () => {
  expect(await verifyRecord(platform, { files: [], signal })).toMatchObject({ prompts: STEPS, faulty: 0 });
  await tampered(async (stepId) => {
    const { faulty, faults } = await verifyRecord(platform, { files: [], signal });
    expect(faulty).toBe(STEPS - 1);
    expect(faults[0]).toEqual({ what: 'prompt', kind: 'changed', place: expect.stringContaining(`step ${stepId}`) });
  });
});

test('verify names a prompt whose text was changed in the read models', async () => {
  const { db } = platform.database;
  const { stepId } = steps[0]!;
  const { response } = await db.selectFrom('steps').select('response').where('stepId', '=', stepId).executeTakeFirstOrThrow();
  const set = (text: string) =>
    db.withSchema('step_tree_v3').updateTable('steps').set({ response: text }).where('stepId', '=', stepId).execute();
  await set(`${response} `);
  const { faults } = await verifyRecord(platform, { files: [], signal });
  await set(response);
  expect(faults.map(({ what }) => what)).toEqual(['prompt', 'prompt']); // those of the two steps behind it, which show it
});
