import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { openTextCraft } from '../../environments/textcraft/textcraft.ts';
import { newId } from '../../events/new-id.ts';
import { readFailures } from '../../projections/evaluations/read-evaluations.ts';
import { readEventsOfTypes } from '../../projections/journal/read-events-of-types.ts';
import { startAgentGymServer } from '../../testing/agentgym-server.ts';
import { countEvents, environmentOf, settle } from '../../testing/crashing-run.ts';
import { startOpenAiServer } from '../../testing/openai-server.ts';
import { sharedRandomTextcraft } from '../../testing/shared-random-textcraft.ts';
import { textCraftAgent } from '../../testing/textcraft-agent.ts';
import { until } from '../../testing/until.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { startProcess } from '../../testing/worker-process.ts';
import type { Collection } from '../collect/collect.ts';
import { treeIdOf } from '../collect/collect-tree.ts';
import { evaluate } from './evaluate.ts';

const platform = useTestPlatform({ opened: 'once', projector: 'running' });

const plan: Collection['plan'] = {
  environment: 'textcraft',
  tasks: ['0', '40', '90', '140'].map((alias) => ({ alias, rollouts: 2, branching: 'root' as const })),
  taskSeed: 0,
  policy: 'planner:0.5',
  temperature: 1,
  maxSteps: 12,
  search: null,
  evaluation: { split: null, recoverFrom: null, resamples: 200, trained: null },
};
const evaluation = (part: Partial<Collection> = {}): Collection => ({
  runId: newId(),
  name: 'evaluate',
  seed: 5,
  plan,
  concurrency: 4,
  mode: 'new',
  signal: new AbortController().signal,
  ...part,
});

/** Opens task a with an empty text; only alone once `turned` is there. Task b cannot take a step once `broken` is. */
const BREAKING = `
import { existsSync } from 'node:fs';
const isThere = (name) => existsSync(new URL(name, import.meta.url));
const stuck = () => Object.assign(new Error('the door is stuck'), { name: 'EnvironmentError', code: 'failed' });
function play() {
  let alias = '';
  return {
    reset(task) {
      ({ alias } = task);
      const observation = isThere('./turned') && task.mode !== 'alone' ? 'turned' : alias === 'a' ? '' : alias;
      return { observation, goal: alias, admissibleActions: ['go'] };
    },
    step() {
      if (alias === 'b' && isThere('./broken')) throw stuck();
      return { observation: 'on', reward: 0, admissibleActions: ['go'] };
    },
  };
}
export const environment = { name: 'breaking', open: () => ({ taskAliases: ['a', 'b'], create: play }) };
`;

/** What an evaluation found, without its name and time. */
async function found(collection: Collection) {
  const { result } = await evaluate(platform, collection);
  if (!result) throw new Error('the evaluation was stopped');
  const { runId: _run, finishedAt: _at, ...rest } = result;
  return rest;
}

describe('evaluateInto', () => {
  test('an evaluation is recorded as an event of a run of kind evaluate, and a repetition finds the same and appends nothing', async () => {
    const collection = evaluation();
    const result = await found(collection);
    expect(result).toMatchObject({
      policy: { policyId: 'planner-0.5', version: 0 },
      environment: 'textcraft',
      tasks: 4,
      episodes: 8,
      bootstrap: { confidence: 0.95, resamples: 200 },
      recovery: null,
      trained: null,
    });
    expect(result.successRate).toBe(result.meanReturn);
    expect(result.successInterval.low).toBeLessThanOrEqual(result.successRate);
    expect(result.successInterval.high).toBeGreaterThanOrEqual(result.successRate);
    expect(result.byDepth.reduce((sum, { episodes }) => sum + episodes, 0)).toBe(8);
    const run = await platform.database.db
      .selectFrom('runs')
      .select(['kind', 'outcome'])
      .where('runId', '=', collection.runId)
      .executeTakeFirst();
    expect(run).toEqual({ kind: 'evaluate', outcome: 'completed' });

    const before = await countEvents(platform);
    expect(await found({ ...collection, mode: 'resume' })).toEqual(result);
    expect(await countEvents(platform)).toBe(before);
  });

  test('an evaluation stopped anywhere and resumed reaches the result of an undisturbed one', async () => {
    const undisturbed = await found(evaluation());
    for (const steps of [1, 20]) {
      const stopping = new AbortController();
      const collection = evaluation();
      const { result } = await evaluate(platform, {
        ...collection,
        signal: stopping.signal,
        progress: (p) => p.steps >= steps && stopping.abort(),
      });
      expect(result).toBeNull();
      expect(await found({ ...collection, mode: 'resume' })).toEqual(undisturbed);
    }
  });

  test('an evaluation killed midway and repeated by the same command reaches the result of an undisturbed one', async () => {
    const undisturbed = await found(evaluation());
    const runId = newId();
    const flags = '--policy planner:0.5 --task 0 40 90 140 --rollouts 2 --max-steps 12 --seed 5 --resamples 200'.split(' ');
    const start = () =>
      startProcess('src/cli/main.ts', ['--json', 'evaluate', ...flags, '--run', runId], environmentOf(platform));
    const before = await countEvents(platform);
    const victim = start();
    await until(async () => (await countEvents(platform)) > before + 20);
    victim.kill('SIGKILL');
    await victim.ended;
    await settle(platform);
    const again = start();
    expect([await again.ended, again.stderr().includes('espalier:')]).toEqual([0, false]);
    const { runId: recorded, finishedAt: _at, ...rest } = JSON.parse(again.stdout());
    expect(recorded).toBe(runId);
    expect(rest).toEqual({ ...undisturbed, state: 'completed', failed: 0, message: '', reasons: [] });
    const anomalies = await platform.database.db.selectFrom('anomalies').select(['kind', 'detail']).execute();
    expect(anomalies).toEqual([]);
  });

  test('an evaluation continues after failed rollouts by repeating their first actions, and measures only what follows', async () => {
    const { db } = platform.database;
    const failing = evaluation({ plan: { ...plan, policy: 'random' } });
    await found(failing);
    const failures = await readFailures(db, failing.runId);
    expect(failures.length).toBeGreaterThan(2);
    expect(failures.every(({ steps }) => steps === 12)).toBe(true);
    const tasks = failures.map(({ treeId, rolloutId, alias }, i) => ({
      alias,
      rollouts: 1,
      branching: 'root' as const,
      behind: { treeId, rolloutId, steps: 1 + (i % 11) },
    }));
    const measured = { split: null, recoverFrom: failing.runId, resamples: 100, trained: null };
    const recovering = evaluation({ plan: { ...plan, policy: 'planner', maxSteps: 30, tasks, evaluation: measured } });
    const undisturbed = await found(recovering);
    expect(undisturbed).toMatchObject({
      recovery: { fromRunId: failing.runId },
      policy: { policyId: 'planner', version: 0 },
      episodes: failures.length,
      successRate: 1,
    });
    const trees = await db
      .selectFrom('steps')
      .innerJoin('trees', 'trees.treeId', 'steps.treeId')
      .select(['steps.treeId', 'depth', 'action', 'rolloutId', 'policySpans'])
      .where('runId', '=', recovering.runId)
      .where('depth', '>', 0)
      .orderBy('steps.logOffset')
      .execute();
    for (const [index, { behind, alias }] of tasks.entries()) {
      const own = trees.filter(
        ({ treeId }) => treeId === treeIdOf(recovering.runId, { alias, rollouts: 1, branching: 'root' }, index),
      );
      const again = own.filter(({ rolloutId }) => rolloutId === null);
      const first = await db
        .selectFrom('steps')
        .select('action')
        .where('rolloutId', '=', behind.rolloutId)
        .orderBy('depth')
        .limit(behind.steps)
        .execute();
      expect(again.map(({ action }) => action)).toEqual(first.map(({ action }) => action));
      expect(again.every(({ policySpans }) => policySpans[0]?.policyId === 'random')).toBe(true);
    }

    const stopping = new AbortController();
    const collection = { ...recovering, runId: newId() };
    const progress = ({ steps }: { readonly steps: number }) => steps >= 25 && stopping.abort();
    expect((await evaluate(platform, { ...collection, signal: stopping.signal, progress })).result).toBeNull();
    expect(await found({ ...collection, mode: 'resume' })).toEqual(undisturbed);
  });

  test('an evaluation repeats what was executed, not its own reading of the replies', async () => {
    const { db } = platform.database;
    const prompt: NonNullable<Collection['plan']['prompt']> = {
      template: { name: 'alfworld', version: 1 },
      mode: 'text',
      historyLength: 5,
      image: null,
      compression: null,
      invalidPenalty: 0,
    };
    const failing = evaluation({ plan: { ...plan, policy: 'random', prompt } });
    await found(failing);
    const failures = await readFailures(db, failing.runId);
    const tasks = failures.slice(0, 4).map(({ treeId, rolloutId, alias }) => ({
      alias,
      rollouts: 1,
      branching: 'root' as const,
      behind: { treeId, rolloutId, steps: 6 },
    }));
    const measured = { split: null, recoverFrom: failing.runId, resamples: 100, trained: null };
    const recovering = evaluation({ plan: { ...plan, policy: 'planner', maxSteps: 30, tasks, evaluation: measured } });
    expect(await found(recovering)).toMatchObject({ episodes: 4, successRate: 1, failedTrees: 0 });
    const steps = await db
      .selectFrom('steps as s')
      .innerJoin('trees as t', 't.treeId', 's.treeId')
      .select(['t.runId', 't.alias', 's.rolloutId', 's.depth', 's.action', 's.observation', 's.response'])
      .where('t.runId', 'in', [failing.runId, recovering.runId])
      .where('s.depth', 'in', [1, 2, 3, 4, 5, 6])
      .execute();
    const cut = tasks.map(({ behind }) => behind.rolloutId);
    const before = steps.filter(({ rolloutId }) => rolloutId !== null && cut.includes(rolloutId));
    const again = steps.filter(({ runId, rolloutId }) => runId === recovering.runId && rolloutId === null);
    const gist = (taken: typeof steps) =>
      taken.map(({ alias, depth, action, observation }) => `${alias} ${depth} ${action} ${observation}`).sort();
    expect(gist(again)).toEqual(gist(before));
    expect(before.some(({ response }) => response.includes('<action>'))).toBe(true);
  });

  test('an evaluation closes a task as failed when its first steps are answered differently, counts it and measures the others', async () => {
    const local = await openTextCraft();
    const shared = sharedRandomTextcraft(local);
    const server = await startAgentGymServer(shared.world);
    const idle = await startOpenAiServer({ reply: () => 'Thought: I wait.\nAction: inventory' });
    const agent = await startOpenAiServer({ reply: textCraftAgent });
    try {
      const environment = `agentgym:textcraft@${server.url}#0-99`;
      const inGym = { ...plan, environment, tasks: plan.tasks.slice(0, 3).map((task) => ({ ...task, rollouts: 1 })) };
      const failing = evaluation({ plan: { ...inGym, policy: `openai:idle@${idle.url}` } });
      await found(failing);
      const failures = await readFailures(platform.database.db, failing.runId);
      const tasks = failures.map(({ treeId, rolloutId, alias }) => ({
        alias,
        rollouts: 2,
        branching: 'root' as const,
        behind: { treeId, rolloutId, steps: 3 },
      }));
      const measured = { split: null, recoverFrom: failing.runId, resamples: 100, trained: null };
      const recovery = { ...inGym, policy: `openai:agent@${agent.url}`, maxSteps: 40, tasks, evaluation: measured };
      shared.spoil(40, 1_000); // it opens otherwise now, however often it is asked
      const recovering = evaluation({ plan: recovery });
      const { collected, result } = await evaluate(platform, recovering);
      expect(collected).toMatchObject({ state: 'completed', trees: 3, rollouts: 4, failedTrees: 1 });
      expect(result).toMatchObject({ episodes: 4, tasks: 2, failedTrees: 1, treeFaults: [{ fault: null, trees: 1 }] });
      const trees = await platform.database.db
        .selectFrom('trees')
        .select(['alias', 'closeReason'])
        .where('runId', '=', recovering.runId)
        .orderBy('alias')
        .execute();
      expect(trees).toEqual([
        { alias: '0', closeReason: 'completed' },
        { alias: '40', closeReason: 'failed' },
        { alias: '90', closeReason: 'completed' },
      ]);
      const again = await evaluate(platform, { ...recovering, mode: 'resume' });
      expect(again).toMatchObject({ collected: { failedTrees: 1 }, result: { episodes: 4, failedTrees: 1 } });
    } finally {
      for (const each of [agent, idle, server, local]) await each.close();
    }
  });

  test('a task that the environment fails on the way to counts its rollouts as failed, in a repetition too, and the others are measured', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'breaking-'));
    try {
      const file = join(folder, 'breaking.mjs');
      await writeFile(file, BREAKING);
      const walks = ['a', 'b'].map((alias) => ({ alias, rollouts: 1, branching: 'root' as const }));
      const walking = { ...plan, environment: `module:${file}`, policy: 'random', maxSteps: 3, tasks: walks };
      const failing = evaluation({ plan: walking });
      await found(failing);
      const failures = await readFailures(platform.database.db, failing.runId);
      const tasks = failures.map(({ treeId, rolloutId, alias }) => ({
        alias,
        rollouts: 1,
        branching: 'root' as const,
        behind: { treeId, rolloutId, steps: 2 },
      }));
      const measured = { split: null, recoverFrom: failing.runId, resamples: 100, trained: null };
      for (const name of ['turned', 'broken']) await writeFile(join(folder, name), '');
      const recovering = evaluation({ plan: { ...walking, tasks, evaluation: measured } });
      const { collected, result } = await evaluate(platform, recovering);
      const counts = { state: 'completed', rollouts: 1, failed: 1, failedTrees: 0, mostFailed: false };
      expect(collected).toMatchObject({ ...counts, message: '1 of 2 rollouts failed: the door is stuck' });
      expect(result).toMatchObject({ episodes: 1, failedTrees: 1, treeFaults: [{ fault: 'the door is stuck', trees: 1 }] });
      const [index, lost] = [...tasks.entries()].find(([, { alias }]) => alias === 'b') ?? [];
      if (index === undefined || !lost) throw new Error('task b has failed');
      const treeId = treeIdOf(recovering.runId, lost, index);
      const [closed] = await readEventsOfTypes(platform.database.db, treeId, ['TreeClosed']);
      expect(closed?.data).toMatchObject({ reason: 'failed', rollouts: 0 });
      const again = await evaluate(platform, { ...recovering, mode: 'resume' });
      expect(again.collected).toMatchObject({ ...counts, reasons: [{ reason: 'the door is stuck', count: 1 }] });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test('an evaluation refuses a plan of another kind', async () => {
    const { evaluation: _, ...collecting } = plan;
    await expect(evaluate(platform, evaluation({ plan: collecting }))).rejects.toThrow('is to collect, not to evaluate');
  });
});
