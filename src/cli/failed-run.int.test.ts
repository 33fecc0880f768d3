import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '../events/new-id.ts';
import type { Platform } from '../platform/open-platform.ts';
import { countEvents, environmentOf } from '../testing/crashing-run.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import { type Failure, type OpenAiServer, startOpenAiServer } from '../testing/openai-server.ts';
import { textCraftAgent } from '../testing/textcraft-agent.ts';
import { killRunning, runEspalier } from '../testing/worker-process.ts';

let platform: Platform & { readonly home: string };
let server: OpenAiServer;
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  server = await startOpenAiServer({ model: 'crafter', reply: textCraftAgent });
});
afterAll(() => server.close());
beforeEach(async () => {
  platform = await openTestPlatform();
  env = environmentOf(platform);
});
afterEach(async () => {
  await killRunning();
  await platform.close();
});

const NONSENSE: Failure = { kind: 'body', body: '{"choices": "none"}' };
const policy = () => JSON.stringify({ kind: 'openai', baseUrl: server.url, model: 'crafter', attempts: 1 });
const nonsense = (times: number) => server.fail(...Array.from({ length: times }, () => NONSENSE));

/** What `espalier status` and the row behind GraphQL say of a run. */
async function recordedEnd(runId: string) {
  const { stdout } = await runEspalier(['--json', 'status'], env);
  const { runs } = JSON.parse(stdout) as { runs: { run: string; state: string }[] }; // as the command prints it
  const row = platform.database.db.selectFrom('runs').select(['outcome', 'message']).where('runId', '=', runId);
  return { state: runs.find(({ run }) => run === runId)?.state, ...(await row.executeTakeFirstOrThrow()) };
}

describe('a run without any usable rollout', () => {
  test('a collection without any usable rollout ends as failed with the counted reasons and exit code 1, also when repeated', async () => {
    nonsense(2);
    const run = newId();
    const args = ['collect', '--policy', policy(), '--tasks', '1', '--rollouts', '2', '--concurrency', '1', '--run', run];
    const { code, stdout } = await runEspalier(['--json', ...args], env);
    const said = JSON.parse(stdout);
    expect([code, said]).toEqual([
      1,
      expect.objectContaining({
        ...{ run, state: 'failed', rollouts: 2, failed: 2, steps: 0 },
        message: expect.stringMatching(/^2 of 2 rollouts failed: .*choices/),
        reasons: [{ count: 2, reason: expect.stringContaining('choices') }],
      }),
    ]);
    expect(await recordedEnd(run)).toEqual({ state: 'failed', outcome: 'failed', message: said.message });
    const events = await countEvents(platform);
    const again = await runEspalier(['--json', 'collect', '--resume', run], env);
    expect([again.code, JSON.parse(again.stdout)]).toEqual([1, said]);
    expect(await countEvents(platform)).toBe(events);
  }, 60_000);

  test('a search run in which no search takes a step ends as failed', async () => {
    nonsense(2);
    const search = ['--search', 'mcts', '--iterations', '2', '--candidates', '2', '--tasks', '2', '--concurrency', '1'];
    const { code, stdout } = await runEspalier(['--json', 'collect', '--policy', policy(), ...search], env);
    const said = JSON.parse(stdout);
    expect([code, said]).toEqual([
      1,
      expect.objectContaining({ state: 'failed', message: expect.stringMatching(/^2 of 2 searches failed: .*choices/) }),
    ]);
    expect(await recordedEnd(said.run)).toEqual({ state: 'failed', outcome: 'failed', message: said.message });
    const again = await runEspalier(['collect', '--resume', said.run], env);
    expect([again.code, again.stdout]).toEqual([1, expect.stringContaining(said.message)]);
  }, 60_000);

  test('an evaluation without any usable rollout has no result, since failures measure nothing of the policy', async () => {
    nonsense(3);
    const args = ['evaluate', '--policy', policy(), '--tasks', '3', '--concurrency', '1'];
    const { code, stdout } = await runEspalier(['--json', ...args], env);
    const said = JSON.parse(stdout);
    expect([code, said]).toEqual([1, expect.objectContaining({ state: 'failed', failed: 3, rollouts: 3 })]);
    expect(await recordedEnd(said.run)).toMatchObject({ state: 'failed', outcome: 'failed' });
    expect(await platform.database.db.selectFrom('evaluations').selectAll().execute()).toEqual([]);
    const text = await runEspalier(['evaluate', '--resume', said.run], env);
    expect([text.code, text.stdout]).toEqual([1, expect.stringMatching(/^run \S+ failed: 3 of 3 rollouts failed: /)]);
  }, 60_000);
});

test('a run in which some rollouts failed ends as completed, and shows the share of failures', async () => {
  nonsense(1);
  const args = ['--policy', policy(), '--tasks', '1', '--rollouts', '2', '--concurrency', '1', '--max-steps', '3'];
  const { code, stdout } = await runEspalier(['--json', 'collect', ...args], env);
  const said = JSON.parse(stdout);
  expect([code, said]).toEqual([0, expect.objectContaining({ state: 'completed', rollouts: 2, failed: 1 })]);
  expect(said.message).toMatch(/^1 of 2 rollouts failed: .*choices/);
  expect(await recordedEnd(said.run)).toEqual({ state: 'completed', outcome: 'completed', message: said.message });

  nonsense(1);
  const evaluated = await runEspalier(['evaluate', ...args], env);
  expect([evaluated.code, evaluated.stdout]).toEqual([
    0,
    expect.stringMatching(/2 episodes[\s\S]*\n1 of 2 rollouts failed: .*choices/),
  ]);
}, 60_000);

describe('a policy that cannot act in the environment', () => {
  test.each([
    ['collect', ['collect', '--policy', 'random', '--environment', 'tool-env'], 'random', 'lists no admissible actions'],
    ['evaluate', ['evaluate', '--policy', 'linear', '--environment', 'tool-env'], 'linear', 'lists no admissible actions'],
    [
      'train',
      ['train', '--policy', 'mine', '--environment', 'tool-env', '--split', 'all'],
      'mine',
      'lists no admissible actions',
    ],
  ])('%s refuses a policy that cannot act, before anything is recorded', async (_name, args, named, why) => {
    const { code, stdout, stderr } = await runEspalier(args, env);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(
      `espalier: the policy ${named} cannot act in tool-env: the environment ${why}; use a policy that writes`,
    );
    expect(await countEvents(platform)).toBe(0);
    expect((await runEspalier(['--json', 'status'], env)).stdout).toContain('"runs":[]');
  });
});
