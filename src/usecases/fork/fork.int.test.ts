import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { openTextCraft } from '../../environments/textcraft/textcraft.ts';
import { newId } from '../../events/new-id.ts';
import { readReplays } from '../../projections/replays/read-replays.ts';
import { startAgentGymServer } from '../../testing/agentgym-server.ts';
import { textcraftWorld } from '../../testing/agentgym-server-worlds.ts';
import { settle } from '../../testing/crashing-run.ts';
import { type OpenAiServer, startOpenAiServer } from '../../testing/openai-server.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { collect } from '../collect/collect.ts';
import type { CollectPlan } from '../collect/plan.ts';
import { type ForkChanges, type ForkResult, fork, planFork } from './fork.ts';

const TOOLS = 'tool-env:profile=v0.1;tools=calculator,./examples/count-letters.ts;tasks=./examples/letters.jsonl;max-turns=6';
const CUTTING = fileURLToPath(new URL('../../testing/cutting-world.ts', import.meta.url));
const COUNT = '<tool_call>{"name": "count_letter", "arguments": {"word": "strawberry", "letter": "r"}}</tool_call>';

const STUCK = `
import { existsSync } from 'node:fs';
const open = { observation: 'on', reward: 0, admissibleActions: ['go'] };
const step = () => {
  if (existsSync(new URL('./broken', import.meta.url))) throw new Error('the door is stuck');
  return open;
};
export const environment = { name: 'stuck', open: () => ({ taskAliases: ['a'], create: () => ({ reset: () => open, step }) }) };
`;

const platform = useTestPlatform({ opened: 'once', projector: 'running' });
let model: OpenAiServer;
const open: { close(): Promise<void> }[] = [];
let gym: string;
beforeAll(async () => {
  model = await startOpenAiServer({
    reply: ({ messages }) => {
      const turns = messages.filter(({ role }) => role === 'assistant').length;
      if (messages.some(({ content }) => JSON.stringify(content).includes('craft'))) return 'Thought: I look.\nAction: inventory';
      return turns < 3 ? COUNT : '<answer>3</answer>';
    },
  });
  const world = await openTextCraft();
  const server = await startAgentGymServer(() => textcraftWorld(world, 0));
  gym = `agentgym:textcraft@${server.url}#0-9`;
  open.push(model, server, world);
});
afterAll(async () => {
  for (const each of open) await each.close();
});

const NEVER = new AbortController().signal;
const modelPolicy = (name: string) => JSON.stringify({ kind: 'openai', baseUrl: model.url, model: name, policyVersion: 1 });

/** Collects two rollouts of a task, and returns the id of the run. */
async function collected(environment: string, alias: string, part: Partial<CollectPlan> = {}): Promise<string> {
  const runId = newId();
  const plan: CollectPlan = {
    environment,
    tasks: [{ alias, rollouts: 2, branching: 'root' }],
    taskSeed: 0,
    policy: 'planner:0.4',
    temperature: 1,
    maxSteps: 8,
    search: null,
    ...part,
  };
  await collect(platform, { runId, name: 'origin', seed: 1, plan, concurrency: 2, mode: 'new', signal: NEVER });
  await settle(platform);
  return runId;
}

/** Returns a step of a run at a depth, from which an episode goes on. */
async function stepAt(runId: string, depth: number): Promise<string> {
  const { stepId } = await platform.database.db
    .selectFrom('steps as s')
    .innerJoin('trees as t', 't.treeId', 's.treeId')
    .select('s.stepId')
    .where('t.runId', '=', runId)
    .where('s.depth', '=', depth)
    .where('s.termination', '=', 'none')
    .orderBy('s.stepId')
    .executeTakeFirstOrThrow();
  return stepId;
}

async function forkFrom(
  stepId: string,
  changes: Partial<ForkChanges> = {},
  runId: string = newId(),
): Promise<ForkResult & { readonly runId: string }> {
  const plan = await planFork(platform, stepId, { rollouts: 3, ...changes });
  const forked = await fork(platform, { runId, name: 'fork', seed: 7, plan, concurrency: 1, signal: NEVER });
  await settle(platform);
  return { ...forked, runId };
}

const stepsOf = async (runId: string) =>
  platform.database.db
    .selectFrom('steps as s')
    .innerJoin('trees as t', 't.treeId', 's.treeId')
    .select(['s.depth', 's.action', 's.observation', 's.rolloutId', 's.policySpans'])
    .where('t.runId', '=', runId)
    .orderBy('s.depth')
    .execute();

describe('forks', () => {
  const worlds: [string, () => string, string, string, string][] = [
    ['textcraft', () => 'textcraft', '90', 'random', 'planner'],
    ['an AgentGym server', () => gym, '0', 'model', 'another model'],
    ['search-qa', () => 'search-qa', 'ivo-daibaim-birthplace', 'random', 'planner'],
    ['tool-env', () => TOOLS, '1', 'model', 'another model'],
  ];
  test.each(worlds)(
    'a fork in %s repeats the way to the step, compares it, and continues with another policy',
    async (_, where, alias, before, after) => {
      const spec = (name: string) => (name.includes('model') ? modelPolicy(name) : name);
      const origin = await collected(where(), alias, { policy: spec(before) });
      const from = await stepAt(origin, 2);
      const { report, progress, runId } = await forkFrom(from, { policy: spec(after) });
      expect(report).toMatchObject({ mode: 'fork', outcome: 'equal', compared: 3, notes: [] });
      expect(progress).toMatchObject({ rollouts: 3, plannedRollouts: 3 });

      const { db } = platform.database;
      const run = await db
        .selectFrom('runs')
        .select(['kind', 'config', 'outcome'])
        .where('runId', '=', runId)
        .executeTakeFirstOrThrow();
      expect(run).toMatchObject({ kind: 'fork', outcome: 'completed', config: { fork: { runId: origin, stepId: from } } });
      const steps = await stepsOf(runId);
      const [, first, second] = steps;
      const behind = steps.filter(({ rolloutId }) => rolloutId !== null);
      expect([first?.depth, second?.depth]).toEqual([1, 2]);
      expect(Math.min(...behind.map(({ depth }) => depth))).toBe(3);
      const actors = new Set(behind.flatMap(({ policySpans }) => policySpans.map(({ policyId }) => policyId)));
      expect(actors).not.toContain(second?.policySpans[0]?.policyId);
      const tasks = await db.selectFrom('trees').select('taskId').distinct().where('runId', 'in', [origin, runId]).execute();
      expect(tasks).toHaveLength(1);
      expect((await readReplays(db, [origin])).map(({ mode, parameters }) => ({ mode, parameters }))).toMatchObject([
        { mode: 'fork', parameters: { run: runId, from } },
      ]);
    },
  );

  test('a fork starts at the root, at a node of a search, and where a limit cut a rollout', async () => {
    const search = { iterations: 3, candidates: 2, maxDepth: 4, exploration: 0.25 };
    const searched = await collected('textcraft', '40', { search, tasks: [{ alias: '40', rollouts: 3, branching: 'root' }] });
    expect((await forkFrom(await stepAt(searched, 0))).report).toMatchObject({ outcome: 'equal', compared: 1 });
    expect((await forkFrom(await stepAt(searched, 1))).report).toMatchObject({ outcome: 'equal', compared: 2 });

    const cut = await collected('textcraft', '90', { maxSteps: 2, policy: 'random' });
    const { stepId: leaf } = await platform.database.db
      .selectFrom('steps as s')
      .innerJoin('trees as t', 't.treeId', 's.treeId')
      .select('stepId')
      .where('runId', '=', cut)
      .where('termination', '=', 'truncated')
      .executeTakeFirstOrThrow();
    await expect(forkFrom(leaf)).rejects.toMatchObject({
      name: 'ReplayRefused',
      message: expect.stringContaining('--max-steps'),
    });
    expect((await forkFrom(leaf, { maxSteps: 3 })).report).toMatchObject({ outcome: 'equal', compared: 3 });
  });

  test('a fork behind a step at which the environment itself cut the episode ends as failed, says so, and names a step before it', async () => {
    const origin = await collected(`module:${CUTTING}`, '1', { policy: 'random' });
    const before = await stepAt(origin, 2);
    const { stepId: cut } = await platform.database.db
      .selectFrom('steps')
      .select('stepId')
      .where('parentStepId', '=', before)
      .executeTakeFirstOrThrow();
    const { report, progress, runId } = await forkFrom(cut, { maxSteps: 3 });
    expect(progress).toBeNull();
    const why = `the environment itself cuts the episode at step ${cut}, by a limit of its own: nothing can follow; go on from a step before it, such as ${before}`;
    expect(report).toMatchObject({ outcome: 'equal', compared: 4, notes: [`run ${runId} has no rollouts: ${why}`] });
    const run = await platform.database.db
      .selectFrom('runs')
      .select(['outcome', 'message'])
      .where('runId', '=', runId)
      .executeTakeFirstOrThrow();
    expect(run).toEqual({ outcome: 'failed', message: why });
  });

  test('a fork is planned with the steps that its rollout has left, whatever the way to its start', async () => {
    const left = async (stepId: string) => (await planFork(platform, stepId, { rollouts: 1 })).maxSteps;
    const origin = await collected('textcraft', '90', { policy: 'random' });
    expect([await left(await stepAt(origin, 0)), await left(await stepAt(origin, 2))]).toEqual([8, 6]);

    const { runId: first } = await forkFrom(await stepAt(origin, 3), { policy: 'random', maxSteps: 2, rollouts: 1 });
    expect([await left(await stepAt(first, 1)), await left(await stepAt(first, 3))]).toEqual([2, 2]);
    const { runId: second } = await forkFrom(await stepAt(first, 4), { policy: 'random' });
    const steps = await stepsOf(second);
    expect(steps.filter(({ rolloutId }) => rolloutId !== null).map(({ depth }) => depth)).toEqual([5, 5, 5]);

    const bushy = await collected('textcraft', '90', {
      policy: 'random',
      tasks: [{ alias: '90', rollouts: 6, branching: 'anywhere' }],
    });
    const late = await platform.database.db
      .selectFrom('steps as s')
      .innerJoin('rollouts as o', 'o.rolloutId', 's.rolloutId')
      .innerJoin('steps as f', 'f.stepId', 'o.fromStepId')
      .select(['s.stepId', 's.depth', 'f.depth as fromDepth'])
      .where('o.runId', '=', bushy)
      .where('f.depth', '>', 0)
      .where('s.termination', '=', 'none')
      .orderBy('s.depth', 'desc')
      .limit(3)
      .execute();
    expect(late.length).toBeGreaterThan(0);
    for (const { stepId, depth, fromDepth } of late) expect(await left(stepId)).toBe(8 - (depth - fromDepth));

    const search = { iterations: 3, candidates: 2, maxDepth: 4, exploration: 0.25 };
    const searched = await collected('textcraft', '40', { search, tasks: [{ alias: '40', rollouts: 3, branching: 'root' }] });
    expect([await left(await stepAt(searched, 0)), await left(await stepAt(searched, 1))]).toEqual([5, 4]);
  });

  test('a repeated fork is the same run, and its comparison is recorded once', async () => {
    const origin = await collected('textcraft', '40');
    const from = await stepAt(origin, 1);
    const { runId } = await forkFrom(from);
    const before = await stepsOf(runId);
    expect((await forkFrom(from, {}, runId)).report).toMatchObject({ outcome: 'equal' });
    expect(await stepsOf(runId)).toEqual(before);
    expect(await readReplays(platform.database.db, [origin])).toHaveLength(1);
    await expect(forkFrom(from, { temperature: 0.5 }, runId)).rejects.toMatchObject({ name: 'RunRefused' });
  });

  test('a fork ends as failed when the environment answers differently, names the step, and stays failed', async () => {
    const origin = await collected('textcraft', '90', { policy: 'random' });
    const from = await stepAt(origin, 2);
    const { db } = platform.database;
    const { parentStepId: changed } = await db
      .selectFrom('steps')
      .select('parentStepId')
      .where('stepId', '=', from)
      .executeTakeFirstOrThrow();
    if (changed === null) throw new Error('a step of depth 2 has a parent');
    await db.updateTable('steps').set({ observation: 'You see nothing.' }).where('stepId', '=', changed).execute();
    const { report, progress, runId } = await forkFrom(from);
    expect(progress).toBeNull();
    expect(report).toMatchObject({
      outcome: 'differs',
      compared: 2,
      differing: 1,
      differences: [{ stepId: changed, field: 'observation', recorded: 'You see nothing.' }],
    });
    const run = await db.selectFrom('runs').select(['outcome', 'message']).where('runId', '=', runId).executeTakeFirstOrThrow();
    expect(run).toMatchObject({ outcome: 'failed', message: expect.stringContaining('did not repeat') });
    const diverged = await db
      .selectFrom('divergences as d')
      .innerJoin('trees as t', 't.treeId', 'd.treeId')
      .select(['field', 'recorded'])
      .where('runId', '=', runId)
      .execute();
    expect(diverged).toEqual([{ field: 'observation', recorded: 'You see nothing.' }]);
    expect(await forkFrom(from, {}, runId)).toMatchObject({ progress: null, report: { outcome: 'differs' } });
    expect(await db.selectFrom('anomalies').selectAll().execute()).toEqual([]);
    expect(await db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
  });

  test('a fork whose environment fails on the way says that failure, in a repetition too, and not that it did not repeat', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'stuck-'));
    try {
      await writeFile(join(folder, 'stuck.mjs'), STUCK);
      const from = await stepAt(await collected(`module:${join(folder, 'stuck.mjs')}`, 'a', { policy: 'random' }), 2);
      await writeFile(join(folder, 'broken'), '');
      const { progress, report, runId } = await forkFrom(from, { policy: 'random' });
      const failed = { state: 'failed', reasons: [{ reason: expect.stringContaining('the door is stuck'), count: 3 }] };
      expect(progress).toMatchObject(failed);
      expect(report?.differing).toBe(0);
      expect((await forkFrom(from, { policy: 'random' }, runId)).progress).toMatchObject(failed);
      const { db } = platform.database;
      const run = await db.selectFrom('runs').select('message').where('runId', '=', runId).executeTakeFirstOrThrow();
      expect(run.message).toContain('the door is stuck');
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('a fork ends as failed when the texts are equal and the state differs, on the way and at the first observation', async () => {
    const { db } = platform.database;
    const asked = await collected('search-qa', 'ivo-daibaim-birthplace', { policy: 'random' });
    const origin = await collected('textcraft', '90', { policy: 'random' });
    const from = await stepAt(origin, 2);
    const hash = 'f'.repeat(64);
    const { parentStepId: changed } = await db
      .selectFrom('steps')
      .select('parentStepId')
      .where('stepId', '=', from)
      .executeTakeFirstOrThrow();
    await db.updateTable('steps').set({ stateHash: hash }).where('stepId', '=', changed).execute();

    const onTheWay = await forkFrom(from);
    expect(onTheWay.report).toMatchObject({
      outcome: 'differs',
      compared: 2,
      differing: 1,
      differences: [{ stepId: changed, field: 'stateHash', recorded: hash }],
      notes: [`run ${onTheWay.runId} ended where the environment answered otherwise: nothing follows from there`],
    });
    const atTheRoot = await forkFrom(await stepAt(asked, 1), { environment: 'search-qa:turns=3' });
    expect(atTheRoot.report).toMatchObject({
      outcome: 'differs',
      compared: 1,
      differing: 1,
      differences: [{ stepId: await stepAt(asked, 0), field: 'stateHash' }],
    });
    for (const { runId, progress } of [onTheWay, atTheRoot]) {
      expect(progress).toBeNull();
      const run = await db.selectFrom('runs').select('outcome').where('runId', '=', runId).executeTakeFirstOrThrow();
      expect(run).toEqual({ outcome: 'failed' });
      const rollouts = await db
        .selectFrom('rollouts as o')
        .innerJoin('trees as t', 't.treeId', 'o.treeId')
        .select('rolloutId')
        .where('t.runId', '=', runId)
        .execute();
      expect(rollouts).toEqual([]);
    }
    expect(await db.selectFrom('quarantine').selectAll().execute()).toEqual([]);
  });

  test('a fork is refused from a missing step, from one that ended its episode, and in a world without the task', async () => {
    const nowhere = '00000000-0000-4000-8000-000000000000';
    await expect(forkFrom(nowhere)).rejects.toMatchObject({ name: 'ReplayRefused', message: expect.stringContaining(nowhere) });
    const asked = await collected('search-qa', 'ivo-daibaim-birthplace', { policy: 'random' });
    await expect(forkFrom(await stepAt(asked, 1), { environment: 'search-qa:seed=2' })).rejects.toMatchObject({
      name: 'ReplayRefused',
      message: expect.stringContaining('has no task "ivo-daibaim-birthplace"'),
    });
    const origin = await collected('textcraft', '0', { policy: 'planner', maxSteps: 30 });
    const { stepId: end } = await platform.database.db
      .selectFrom('steps as s')
      .innerJoin('trees as t', 't.treeId', 's.treeId')
      .select('stepId')
      .where('runId', '=', origin)
      .where('termination', '=', 'terminated')
      .executeTakeFirstOrThrow();
    await expect(forkFrom(end)).rejects.toMatchObject({ message: expect.stringContaining('the episode ended') });
  });
});
