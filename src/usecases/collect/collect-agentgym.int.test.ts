import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createRandom } from '../../domain/random/random.ts';
import type { EnvironmentKind } from '../../environments/environment.ts';
import { openEnvironment } from '../../environments/open-environment.ts';
import { openTextCraft } from '../../environments/textcraft/textcraft.ts';
import { TOPICS } from '../../events/catalogue.ts';
import { newId } from '../../events/new-id.ts';
import type { ActRequest, Policy } from '../../policies/policy.ts';
import { randomPolicy } from '../../policies/random-policy.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { type AgentGymServer, startAgentGymServer } from '../../testing/agentgym-server.ts';
import { sciworldWorld, textcraftWorld } from '../../testing/agentgym-server-worlds.ts';
import { appenderAs } from '../../testing/appender-as.ts';
import { sharedRandomTextcraft } from '../../testing/shared-random-textcraft.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { collectRun } from './collect-run.ts';
import type { CollectPlan } from './plan.ts';
import { nothingRecorded } from './recorded-run.ts';
import { candidatesFor } from './refuse-unfit.ts';

const platform = useTestPlatform({ opened: 'once', projector: 'running' });
let local: EnvironmentKind;
let server: AgentGymServer;
beforeAll(async () => {
  local = await openTextCraft();
  server = await startAgentGymServer(() => textcraftWorld(local, 0));
});
afterAll(async () => {
  await server.close();
  await local.close();
});

const tasks = [
  { alias: '0', rollouts: 3, branching: 'root' },
  { alias: '40', rollouts: 4, branching: 'root' },
  { alias: '7', rollouts: 5, branching: 'anywhere' },
] as const;

/** A policy that knows only what a prompt holds: it gets what a shown command needs, or crafts by one. */
const reader: Policy = {
  ref: { policyId: 'reader', version: 0 },
  act: async ({ firstObservation, seed }: ActRequest) => {
    const random = createRandom(seed);
    const commands = firstObservation.match(/^craft .*$/gm) ?? [];
    const command = commands[random.int(commands.length)] ?? 'inventory';
    const needs = command.split(' using ')[1]?.split(', ') ?? [];
    const action = random.int(3) === 0 ? command : `get ${needs[random.int(needs.length)]}`;
    const response = `Thought: I try something.\nAction: ${random.int(9) === 0 ? 'inventory' : action}`;
    return [{ response, tokens: null, usage: null, finishReason: 'stop' }];
  },
  close: async () => undefined,
};

/** A policy that boils the water, and now and then focuses on itself, which is fatal. */
const scientist: Policy = {
  ...reader,
  act: async ({ history, seed }) => {
    const careless = createRandom(seed).int(4) === 0;
    const action = history.length === 0 ? 'focus on water' : careless ? 'focus on agent' : 'activate stove';
    return [{ response: `Action: ${action}`, tokens: null, usage: null, finishReason: 'stop' }];
  },
};

async function collect(
  kind: EnvironmentKind,
  options: { policy?: Policy; planned?: CollectPlan['tasks']; onStep?: () => void; concurrency?: number } = {},
) {
  const { policy = reader, planned = [...tasks], onStep, concurrency = 2 } = options;
  const { log, blobs } = platform;
  const runId = newId();
  let steps = 0;
  await collectRun({
    runId,
    name: 'over http',
    seed: 3,
    codeVersion: 'test',
    kind,
    policy,
    recorded: nothingRecorded,
    concurrency,
    plan: { environment: kind.name, tasks: planned, taskSeed: 0, policy: 'reader', temperature: 1, maxSteps: 10, search: null },
    appender: appenderAs('collector', { log, blobs }),
    clock: Date.now,
    signal: new AbortController().signal,
    progress: (progress) => {
      if (progress.steps > steps) onStep?.();
      steps = progress.steps;
    },
  });
  await waitUntilProjected(platform.database.db, await log.ends(TOPICS), { timeoutMs: 20_000 });
  return runId;
}

/** What was done, seen and earned, rollout by rollout: all of a run but its ids and times, and what a server does not report. */
async function recordOf(runId: string) {
  const { db } = platform.database;
  return db
    .selectFrom('steps')
    .innerJoin('trees', 'trees.treeId', 'steps.treeId')
    .leftJoin('rollouts', 'rollouts.rolloutId', 'steps.rolloutId')
    .leftJoin('rewards', 'rewards.stepId', 'steps.stepId')
    .select(['trees.alias', 'trees.goal', 'trees.instruction', 'rollouts.ordinal', 'rollouts.outcome', 'rollouts.success'])
    .select(['steps.depth', 'steps.response', 'steps.thought', 'steps.action', 'steps.observation', 'steps.executable'])
    .select(['steps.termination', 'rewards.value'])
    .where('trees.runId', '=', runId)
    .orderBy('trees.alias')
    .orderBy('rollouts.ordinal')
    .orderBy('steps.depth')
    .execute();
}

/** How a run ended, and the tasks of its failed trees. */
async function endOf(runId: string) {
  const { db } = platform.database;
  const run = await db.selectFrom('runs').select(['outcome', 'message']).where('runId', '=', runId).executeTakeFirstOrThrow();
  const trees = await db
    .selectFrom('trees')
    .select('alias')
    .where('runId', '=', runId)
    .where('closeReason', '=', 'failed')
    .execute();
  return { ...run, failed: trees.map(({ alias }) => alias) };
}

const address = (tail = '') => `agentgym:textcraft@${server.url}${tail}#0-50`;

describe('collections over an AgentGym server', () => {
  test('a collection equals the local one step by step where the world is the same', async () => {
    const remote = await openEnvironment(address());
    const [here, there] = [await recordOf(await collect(local)), await recordOf(await collect(remote))];
    await remote.close();
    expect(there).toEqual(here);
    expect(here.filter(({ depth }) => depth > 0).length).toBeGreaterThan(60);
    expect(new Set(here.map(({ executable }) => executable)).size).toBe(2); // refused actions are marked
  });

  test('the policy random acts by the commands that an opening lists', async () => {
    const remote = await openEnvironment(address());
    const runId = await collect(candidatesFor(remote, randomPolicy()), { policy: randomPolicy() });
    await remote.close();
    const record = (await recordOf(runId)).filter(({ depth }) => depth > 0);
    expect(record.length).toBeGreaterThan(20);
    expect(record.some(({ executable }) => executable)).toBe(true);
    expect(record.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
  });

  test('a collection waits where fewer environments are allowed than rollouts run concurrently', async () => {
    const remote = await openEnvironment(address('?limit=1'));
    const before = server.requests.filter(({ route }) => route === '/create').length;
    const record = await recordOf(await collect(remote));
    await remote.close();
    expect(record).toEqual(await recordOf(await collect(local)));
    expect(server.requests.filter(({ route }) => route === '/create').length).toBe(before);
  });

  test('a collection survives restarts of the server without losing or repeating anything', async () => {
    const remote = await openEnvironment(address());
    let steps = 0;
    const record = await recordOf(await collect(remote, { onStep: () => ++steps % 20 === 0 && server.restart() }));
    await remote.close();
    expect(steps).toBeGreaterThan(60);
    expect(record).toEqual(await recordOf(await collect(local)));
  });

  test('a collection starts one task at a time where the server shares one random state, so that no opening differs', async () => {
    const shared = sharedRandomTextcraft(local);
    const real = await startAgentGymServer(shared.world);
    const remote = await openEnvironment(`agentgym:textcraft@${real.url}#0-50`);
    const wide = Array.from({ length: 8 }, (_, i) => ({ alias: String(5 * i), rollouts: 4, branching: 'root' as const }));
    const runId = await collect(remote, { planned: wide, concurrency: 8 });
    await remote.close();
    await real.close();
    expect(shared.overlaps()).toBe(0);
    const failed = await recordOf(runId);
    expect(failed.filter(({ outcome }) => outcome === 'failed')).toEqual([]);
    expect(await endOf(runId)).toEqual({ outcome: 'completed', message: '', failed: [] });
  });

  test('a run in which one task opens differently later closes its tree as failed, says so and fails, and keeps its other trees', async () => {
    const shared = sharedRandomTextcraft(local);
    const real = await startAgentGymServer(shared.world);
    const remote = await openEnvironment(`agentgym:textcraft@${real.url}#0-50`);
    shared.spoil(40, 1); // the opening that the tree is opened with
    const planned = ['3', '40'].map((alias) => ({ alias, rollouts: 3, branching: 'root' as const }));
    const runId = await collect(remote, { planned });
    await remote.close();
    await real.close();
    const record = await recordOf(runId);
    expect(record.filter(({ alias, depth }) => alias === '40' && depth > 0)).toEqual([]);
    expect(record.filter(({ alias, depth }) => alias === '3' && depth > 0).length).toBeGreaterThan(5);
    expect(await endOf(runId)).toEqual({
      outcome: 'failed',
      message: expect.stringMatching(
        /^3 of 6 rollouts failed: the environment opens the task otherwise than was recorded: equal task and seed must begin alike, whatever was played before; 1 of 2 trees failed: the environment did not repeat what was recorded in them; see that .* agentgym check --open URL\), then collect those tasks in another run$/,
      ),
      failed: ['40'],
    });
    const reasons = await platform.database.db
      .selectFrom('rollouts')
      .select(['outcome', 'reason'])
      .where('runId', '=', runId)
      .where('outcome', '=', 'failed')
      .execute();
    expect(reasons).toEqual(
      Array.from({ length: 3 }, () => ({
        outcome: 'failed',
        reason:
          'the environment opens the task otherwise than was recorded: equal task and seed must begin alike, whatever was played before',
      })),
    );
  });

  test('a collection sums a cumulative score to the return, and a fatal act takes all of it back', async () => {
    const laboratory = await startAgentGymServer(sciworldWorld);
    const remote = await openEnvironment(`agentgym:sciworld@${laboratory.url}#0-2`);
    const planned = [{ alias: '1', rollouts: 12, branching: 'root' as const }];
    const runId = await collect(remote, { policy: scientist, planned });
    await remote.close();
    await laboratory.close();
    const ends = await platform.database.db
      .selectFrom('rollouts')
      .innerJoin('returns', 'returns.rolloutId', 'rollouts.rolloutId')
      .select(['rollouts.success', 'returns.value'])
      .where('rollouts.runId', '=', runId)
      .execute();
    expect(ends).toHaveLength(12);
    expect(new Set(ends.map(({ success, value }) => `${success} ${value}`))).toEqual(new Set(['true 1', 'false 0']));
  });
});
