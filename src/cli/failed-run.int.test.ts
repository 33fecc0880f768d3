import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
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
        run,
        state: 'failed',
        rollouts: 2,
        failed: 2,
        steps: 0,
        message: expect.stringMatching(/^2 of 2 rollouts failed: .*choices/),
        reasons: [{ count: 2, reason: expect.stringContaining('choices') }],
      }),
    ]);
    expect(await recordedEnd(run)).toEqual({ state: 'failed', outcome: 'failed', message: said.message });
    const events = await countEvents(platform);
    const again = await runEspalier(['--json', 'collect', '--resume', run], env);
    expect([again.code, JSON.parse(again.stdout)]).toEqual([1, said]);
    expect(await countEvents(platform)).toBe(events);
  });

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
  });

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
  });
});

test('an error of a server that hangs ends the command with how to go on, and the run goes on where its record ends', async () => {
  const world = await startWorld();
  try {
    const run = newId();
    const args = ['--environment', `server:${world.url};timeout=1`, '--tasks', '2', '--rollouts', '2', '--concurrency', '1'];
    world.hang(true);
    const { code, stderr } = await runEspalier(['collect', ...args, '--run', run], env);
    const advice = `the run is kept as far as it came, continue with: espalier collect --resume ${run}`;
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(
        `espalier: POST ${world.url}/step has not answered within 1000 ms; see what it waits for there, or allow it longer by the option timeout; ${advice}\n`,
      ),
    ]);
    world.hang(false);
    const resumed = await runEspalier(['--json', 'collect', '--resume', run], env);
    expect([resumed.code, JSON.parse(resumed.stdout)]).toEqual([
      0,
      expect.objectContaining({
        run,
        state: 'completed',
        trees: 2,
        plannedTrees: 2,
        rollouts: 4,
        plannedRollouts: 4,
        steps: 8,
      }),
    ]);
    const evaluated = newId();
    world.hang(true);
    const failed = await runEspalier(['evaluate', ...args, '--run', evaluated], env);
    expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining(`espalier evaluate --resume ${evaluated}\n`)]);
  } finally {
    await world.close();
  }
});

test.each([
  ['a collection', ['--rollouts', '2']],
  ['a search', ['--search', 'mcts', '--iterations', '2', '--max-depth', '2']],
])(
  'an outage behind the environment leaves %s open with exit code 1, and --resume does again what met it',
  async (_what, how) => {
    const world = await startWorld();
    try {
      const run = newId();
      const args = ['--environment', `server:${world.url}`, '--policy', 'random', '--tasks', '2', ...how, '--concurrency', '1'];
      world.fail('a');
      const { code, stdout } = await runEspalier(['collect', ...args, '--run', run], env);
      expect([code, stdout]).toEqual([
        1,
        expect.stringMatching(/ interrupted: .*\n.* left open for a resume: .*the world fell over\n/),
      ]);
      expect(stdout).toContain(`continue with: espalier collect --resume ${run}\n`);
      world.fail();
      const resumed = await runEspalier(['--json', 'collect', '--resume', run], env);
      expect([resumed.code, JSON.parse(resumed.stdout)]).toEqual([
        0,
        expect.objectContaining({ state: 'completed', trees: 2, failed: 0, message: '' }),
      ]);
    } finally {
      await world.close();
    }
  },
);

test('a training in which some rollouts failed shows their share with the reason, and completes', async () => {
  const world = await startWorld();
  try {
    const asked = ['--environment', `server:${world.url}`, '--split', 'all', '--updates', '2', '--groups', '2', '--group', '2'];
    world.fail('a');
    const args = ['train', ...asked, '--policy', 'half', '--test-tasks', '0', '--keep-zero-variance'];
    const { code, stdout } = await runEspalier(args, env);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/\n\d+ of \d+ rollouts failed: .*the world fell over\n$/)]);
  } finally {
    await world.close();
  }
});

test('a training in which most rollouts failed completes with a warning and exit code 1', async () => {
  const world = await startWorld(['a', 'b', 'c']);
  try {
    world.fail('a', 'b');
    const asked = ['--environment', `server:${world.url}`, '--split', 'all', '--updates', '3', '--groups', '1', '--group', '2'];
    const args = ['--json', 'train', ...asked, '--policy', 'few', '--test-tasks', '0', '--keep-zero-variance'];
    const { code, stdout, stderr } = await runEspalier(args, env);
    expect([code, JSON.parse(stdout), stderr]).toEqual([
      1,
      expect.objectContaining({ state: 'completed', version: 3, mostFailed: true }),
      expect.stringMatching(/espalier: warning: most of run \S+ failed/),
    ]);
  } finally {
    await world.close();
  }
});

/** A server of an environment, two steps an episode, that answers no step while it hangs, and fails those of a task. */
async function startWorld(names = ['a', 'b']) {
  let hanging = false;
  let failing: readonly string[] = [];
  const tasks = new Map<string, string>();
  const server = createServer(async (incoming, response) => {
    const body =
      incoming.method === 'POST'
        ? (JSON.parse((await buffer(incoming)).toString()) as { n?: number; episode?: string; task?: string })
        : {};
    if (hanging && incoming.url === '/step' && body.n === 1) return;
    const { episode = '', task } = body;
    if (task !== undefined) tasks.set(episode, task);
    if (incoming.url === '/step' && failing.includes(tasks.get(episode) ?? '')) {
      response.writeHead(500, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: 'backend', message: 'the world fell over' }));
      return;
    }
    const n = (body.n ?? 0) + 1;
    const answers: Readonly<Record<string, object>> = {
      '/': { protocol: 'espalier-environment/1', name: 'hanging', fingerprint: 'hanging 1', tasks: names },
      '/create': { episode: newId() },
      '/reset': { observation: 'begin', actions: ['go', 'stay'] },
      '/step': { observation: `step ${n}`, terminated: n === 2, actions: ['go', 'stay'] },
    };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answers[incoming.url ?? ''] ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // a TCP server that listens has one
  return {
    url: `http://127.0.0.1:${port}`,
    fail: (...aliases: readonly string[]) => {
      failing = aliases;
    },
    hang: (on: boolean) => {
      hanging = on;
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

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
});

test.each(['collect', 'evaluate'])(
  '%s of which most rollouts failed completes with a warning and exit code 1, also when repeated',
  async (command) => {
    nonsense(2);
    const run = newId();
    const args = [
      '--policy',
      policy(),
      '--tasks',
      '1',
      '--rollouts',
      '3',
      '--concurrency',
      '1',
      '--max-steps',
      '3',
      '--run',
      run,
    ];
    const failed = { code: 1, stderr: expect.stringContaining(`espalier: warning: most of run ${run} failed`) };
    expect(await runEspalier(['--json', command, ...args], env)).toMatchObject(failed);
    expect(await recordedEnd(run)).toMatchObject({ state: 'completed', outcome: 'completed' });
    expect(await runEspalier(['--json', command, '--resume', run], env)).toMatchObject(failed);
  },
);

describe('a policy that cannot act in the environment', () => {
  test.each([
    ['collect', ['collect', '--policy', 'random', '--environment', 'tool-env'], 'random', 'lists no admissible actions'],
    [
      'evaluate',
      ['evaluate', '--policy', 'linear', '--environment', 'tool-env', '--tasks', '1'],
      'linear',
      'lists no admissible actions',
    ],
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
