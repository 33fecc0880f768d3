import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../events/new-id.ts';
import { settle } from '../../testing/crashing-run.ts';
import { collectLetters, replyAboutLetters, returnOfRun, rewardsOfRun } from '../../testing/letters-run.ts';
import { type OpenAiServer, startOpenAiServer } from '../../testing/openai-server.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { score } from './score.ts';

const platform = useTestPlatform({ opened: 'once', projector: 'running' });
let server: OpenAiServer;
beforeAll(async () => {
  server = await startOpenAiServer({ reply: replyAboutLetters });
});
afterAll(() => server.close());

const collected = () => collectLetters(platform, { baseUrl: server.url, rollouts: 1 });

test('a reward scored later is assigned once, then revised by another scorer, and the return includes its present value', async () => {
  const runId = await collected();
  const { signal } = new AbortController();
  const scoreWith = async (scorer: string, component: string | null = null) => {
    const counts = await score(platform, { runId, scorer, component, environment: null, signal });
    await settle(platform);
    return counts;
  };
  expect(await scoreWith('answer-f1')).toEqual({
    scorer: 'answer-f1@1',
    component: 'answer-f1',
    trees: 1,
    assigned: 1,
    revised: 0,
    standing: 0,
    forgotten: 0,
    unreadable: 0,
  });
  expect(await scoreWith('answer-f1')).toMatchObject({ assigned: 0, revised: 0, standing: 1 });
  expect(await returnOfRun(platform.database.db, runId)).toBe(2.1);
  expect(await scoreWith('qa-em-format@seed-1', 'environment')).toMatchObject({ assigned: 0, revised: 1, standing: 0 });
  expect(await scoreWith('qa-em-format@seed-1', 'environment')).toMatchObject({ assigned: 0, revised: 0, standing: 1 });
  expect(await scoreWith('exact-match', 'environment')).toMatchObject({ revised: 1 });
  expect(await scoreWith('qa-em-format@seed-1', 'environment')).toMatchObject({ revised: 1 });
  // Two turns with calls and the last are in form: −1 + 1 + 1.
  expect(await rewardsOfRun(platform.database.db, runId)).toMatchObject([
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
