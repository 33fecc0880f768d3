import { expect, test } from '@jest/globals';
import { measureEpisodes } from '../../domain/evaluation/measure-episodes.ts';
import { sumAmounts } from '../../domain/reward/amount.ts';
import { joinPages } from '../../postgres/keyset.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { readEpisodes } from '../evaluations/read-evaluations.ts';
import { readTrajectories, TRAJECTORY_ORDERINGS } from '../rewards/read-trajectories.ts';
import { findMiscounted } from '../runs/find-miscounted.ts';
import { readDepthTotals, readRunTotals } from '../runs/read-run-totals.ts';
import { readReturnVariances } from '../step-tree/read-trees.ts';
import { AGGREGATE_BY, type AggregateBy, type AggregateFilter, type AggregatePart, aggregate } from './aggregate.ts';
import { readTaskTotals } from './choose-tasks.ts';
import { compareTaskResults } from './compare-task-results.ts';
import { readPublishedMetrics } from './read-published-metrics.ts';
import { readTaskResults } from './read-task-results.ts';

const database = useTestDatabase({ emptied: 'before-each' });
const TASK = {
  environment: 'webshop',
  serverFingerprint: 'w',
  observationHash: 'a'.repeat(64),
  alias: 'shelf',
  goal: '',
  depth: 1,
  split: null,
};
const PARTS: ReadonlySet<AggregatePart> = new Set(['rollouts', 'steps', 'tools', 'components']);

/** A run of two trees, the second one open; rollouts of two versions, a step of nobody, and calls of two tools. */
function record() {
  const builder = new EventBuilder('summed');
  const run = builder.run('summed');
  const trees = ['closed', 'open'].map((name) => builder.tree(run, name));
  for (const tree of trees) {
    builder.step(tree, null, tree.rootStepId, 1);
    for (const ordinal of [0, 1, 2]) {
      const rolloutId = builder.rollout(tree, ordinal, { policy: { policyId: 'p', version: ordinal % 2 } });
      const usage = { promptTokens: 10 + ordinal, completionTokens: ordinal };
      const timings = { policyMs: 0.1 * ordinal, environmentMs: 0.7 };
      const finishReason = ordinal === 1 ? 'length' : null;
      const leaf = builder.step(tree, rolloutId, tree.rootStepId, 1, { usage, timings, finishReason, executable: ordinal > 0 });
      call(builder, run, tree, leaf, 0);
      builder.reward(tree, leaf, ordinal, { rolloutId });
      builder.finishRollout(tree, rolloutId, leaf, { steps: 1, success: ordinal === 2 });
    }
  }
  const [closed = { treeId: '', runId: '', rootStepId: '' }] = trees;
  builder.closeTree(closed, 3);
  return { builder, run };
}

function call(builder: EventBuilder, run: string, { treeId }: { readonly treeId: string }, stepId: string, ordinal: number) {
  const toolCallId = builder.id('call', stepId, ordinal);
  const tool = ordinal === 0 ? 'search' : 'calculator';
  const said = { tool, arguments: '{}', output: 'found', outcome: ordinal === 0 ? 'ok' : 'error', durationMs: 0.3 } as const;
  builder.record('ToolCalled', { toolCallId, treeId, stepId, ordinal, ...said }, run);
}

test('a tool that a closed tree called at its root alone is counted once', async () => {
  const builder = new EventBuilder('root alone');
  const run = builder.run('root alone');
  const tree = builder.tree(run, 'root alone');
  call(builder, run, tree, tree.rootStepId, 0);
  builder.closeTree(tree, 0);
  await givenEvents(database.db, builder.events);
  const counted = await aggregate(database.db, 'TOOL', { runIds: [run] }, PARTS);
  expect(counted.map(({ tools }) => tools?.calls)).toEqual([1]);
});

test('rollouts, steps and calls are summed up by run, version and tool, steps of no rollout with their run', async () => {
  const { builder, run } = record();
  await givenEvents(database.db, builder.events);
  const summed = async (by: AggregateBy, filter: AggregateFilter = {}) =>
    aggregate(database.db, by, { runIds: [run], ...filter }, PARTS);
  expect(await summed('RUN')).toMatchObject([
    {
      rollouts: { rollouts: 6, successes: 2, meanReturn: 1, meanSteps: 1 },
      steps: { steps: 8, executable: 6, promptTokens: 66, completionTokens: 6 },
      tools: { calls: 6, errors: 0, durationMs: expect.closeTo(1.8) },
    },
  ]);
  const ofVersion = { rollouts: { rollouts: 2, successes: 0 }, steps: { steps: 2, promptTokens: 22 }, tools: { calls: 2 } };
  expect(await summed('POLICY_VERSION')).toMatchObject([
    { policyVersion: 0, rollouts: { rollouts: 4, successes: 2 }, steps: { steps: 4, promptTokens: 44 }, tools: { calls: 4 } },
    { policyVersion: 1, ...ofVersion },
  ]);
  expect(await summed('RUN', { policyId: 'p', policyVersion: 1 })).toMatchObject([{ runId: run, ...ofVersion }]);
  expect(await summed('TOOL', { policyId: 'p', policyVersion: 1 })).toMatchObject([{ tool: 'search', ...ofVersion }]);
  const metrics = new Map((await readPublishedMetrics(database.db, run)).map(({ name, value, count }) => [name, [value, count]]));
  expect(metrics.get('episode/valid_action_ratio')).toEqual([1, 6]);
  expect(metrics.get('episode/tool_call_count/mean')).toEqual([1, 6]);
  expect(metrics.get('prompt_length/mean')).toEqual([11, 6]);
  expect(metrics.get('response_length/clip_ratio')).toEqual([expect.closeTo(1 / 3), 6]);
});

test('the counts of rollouts are those of the sums with returns', async () => {
  const { builder, run } = record();
  await givenEvents(database.db, builder.events);
  for (const by of AGGREGATE_BY) {
    const of = async (part: AggregatePart) =>
      (await aggregate(database.db, by, { runIds: [run] }, new Set([part]))).map(({ rollouts, ...group }) => {
        const { finished, successes, successRate } = rollouts;
        return { ...group, rollouts: rollouts.rollouts, finished, successes, successRate };
      });
    expect(await of('counts')).toEqual(await of('rollouts'));
  }
  const [counted, ...others] = await aggregate(
    database.db,
    'RUN',
    { runIds: [run], policyId: 'p', policyVersion: 0 },
    new Set(['counts']),
  );
  expect([counted?.rollouts, others]).toMatchObject([{ rollouts: 4, finished: 4, successes: 2, successRate: 0.5 }, []]);
});

test('runs with equal rewards have equal means and variances, in whatever order the rewards were recorded', async () => {
  const values = [0.1, 0.2, 0.3, 0.7, -0.6, 1e3, -1e3, 0.05];
  const builder = new EventBuilder('equal');
  const trees = values.map((_, first) => {
    const tree = builder.tree(builder.run(`rotated by ${first}`), `rotated by ${first}`);
    for (const i of values.keys()) {
      const rolloutId = builder.rollout(tree, i);
      const timings = { policyMs: Math.abs(values[(first + i) % values.length] ?? 0), environmentMs: 0.1 };
      const leaf = builder.step(tree, rolloutId, tree.rootStepId, 1, { timings });
      builder.reward(tree, leaf, values[(first + i) % values.length] ?? 0, { rolloutId });
      builder.finishRollout(tree, rolloutId, leaf, { steps: 1 });
    }
    return tree;
  });
  const constant = builder.tree(builder.run('constant'), 'constant');
  for (let i = 0; i < 10; i++) {
    const rolloutId = builder.rollout(constant, i);
    const leaf = builder.step(constant, rolloutId, constant.rootStepId, 1);
    builder.reward(constant, leaf, 0.1, { rolloutId });
    builder.finishRollout(constant, rolloutId, leaf, { steps: 1 });
  }
  await givenEvents(database.db, builder.events);
  const { db } = database;
  const runs = trees.map(({ runId }) => runId);
  const mean = sumAmounts(values) / values.length;
  const means = trees.map(() => mean);
  const summed = await aggregate(db, 'RUN', { runIds: runs }, PARTS);
  expect(summed.map(({ rollouts }) => rollouts?.meanReturn)).toEqual(means);
  expect(summed.map(({ components }) => components?.[0]?.mean)).toEqual(means);
  expect(new Set(summed.map(({ steps }) => steps?.policyMs)).size).toBe(1);
  expect((await readTaskResults(db, runs)).map(({ meanReturn }) => meanReturn)).toEqual(means);
  const tasks = await db.selectFrom('trees').select('taskId').where('runId', 'in', runs).execute();
  const totals = await readTaskTotals(
    db,
    tasks.map(({ taskId }) => taskId),
  );
  expect(new Set(totals.map(({ meanReturn }) => meanReturn))).toEqual(new Set([mean]));
  const published = await Promise.all(runs.map((runId) => readPublishedMetrics(db, runId)));
  expect(published.map((metrics) => metrics.find(({ name }) => name === 'episode/reward/mean')?.value)).toEqual(means);
  const variances = await readReturnVariances(
    db,
    [...trees, constant].map(({ treeId }) => treeId),
  );
  expect(new Set(trees.map(({ treeId }) => variances.get(treeId))).size).toBe(1);
  expect(variances.get(constant.treeId)).toBe(0);
});

test('a rollout that nobody rewarded has no return: no mean, bound, variance or comparison counts it, and the counts say so', async () => {
  const builder = new EventBuilder('unrewarded');
  const runs = ['one', 'other'].map((name) => builder.run(name));
  const trees = runs.map((runId, i) => {
    const task = builder.tree(runId, `shelf ${i}`, { task: { ...TASK, taskId: builder.id('task', 'shelf') } });
    const silent = builder.tree(runId, `silent ${i}`, {
      task: { ...TASK, taskId: builder.id('task', 'silent'), alias: 'silent' },
    });
    for (const [tree, values] of [
      [task, [1, 3, null]],
      [silent, [null]],
    ] as const)
      for (const [ordinal, value] of values.entries()) {
        const rolloutId = builder.rollout(tree, ordinal);
        const leaf = builder.step(tree, rolloutId, tree.rootStepId, 1);
        if (value !== null) builder.reward(tree, leaf, value + i, { rolloutId });
        builder.finishRollout(tree, rolloutId, leaf, { steps: 1, success: null });
      }
    return [task.treeId, silent.treeId] as const;
  });
  await givenEvents(database.db, builder.events);
  const { db } = database;
  const [run = ''] = runs;
  const [[shelf = '', silent = ''] = []] = trees;
  const ofRun = { finished: 4, rewarded: 2, meanReturn: 2 };
  const [summed] = await aggregate(db, 'RUN', { runIds: [run] }, PARTS);
  expect(summed?.rollouts).toMatchObject({ ...ofRun, minReturn: 1, maxReturn: 3 });
  expect(await readRunTotals(db, [run])).toMatchObject([{ rewarded: 2, meanReturn: 2 }]);
  expect(await readDepthTotals(db, [run])).toMatchObject([ofRun]);
  expect(await findMiscounted(db)).toEqual([]);
  const totals = new Map(
    (await readTaskTotals(db, [builder.id('task', 'shelf'), builder.id('task', 'silent')])).map((each) => [each.taskId, each]),
  );
  expect(totals.get(builder.id('task', 'shelf'))).toMatchObject({ finished: 6, rewarded: 4, meanReturn: 2.5 });
  expect(totals.get(builder.id('task', 'silent'))).toMatchObject({ finished: 2, rewarded: 0, meanReturn: null });
  const metrics = await readPublishedMetrics(db, run);
  expect(metrics.filter(({ name }) => name.startsWith('episode/reward'))).toEqual([
    { name: 'episode/reward/mean', value: 2, count: 2 },
    { name: 'episode/reward/max', value: 3, count: 2 },
    { name: 'episode/reward/min', value: 1, count: 2 },
  ]);
  expect(metrics.find(({ name }) => name.includes('webshop_task_score'))).toMatchObject({ value: 2, count: 2 });
  expect(await readReturnVariances(db, [shelf, silent])).toEqual(
    new Map([
      [shelf, 1],
      [silent, null],
    ]),
  );
  const [compared] = await compareTaskResults(db, runs, { confidence: 0.95, resamples: 10, seed: 1 });
  expect(compared).toMatchObject({ tasks: 2, return: { tasks: 1, baselineMean: 2, otherMean: 3 } });
  const measured = measureEpisodes(await readEpisodes(db, run), { confidence: 0.95, resamples: 10, seed: 1 });
  expect(measured).toMatchObject({ episodes: 4, rewarded: 2, meanReturn: 2 });
  expect(
    measureEpisodes([{ taskId: 'a', taskDepth: null, return: null, success: false, actions: [] }], {
      confidence: 0.95,
      resamples: 10,
      seed: 1,
    }),
  ).toMatchObject({ rewarded: 0, meanReturn: null, returnInterval: null });
});

test.each(['asc', 'desc'] as const)(
  'ordered by return %s, what nobody rewarded comes last, page by page in both directions',
  async (direction) => {
    const builder = new EventBuilder(`ordered ${direction}`);
    const run = builder.run();
    const tree = builder.tree(run, 'tree');
    for (const [ordinal, value] of [null, 2, null, 1, 3].entries()) {
      const rolloutId = builder.rollout(tree, ordinal);
      const leaf = builder.step(tree, rolloutId, tree.rootStepId, 1);
      if (value !== null) builder.reward(tree, leaf, value, { rolloutId });
      builder.finishRollout(tree, rolloutId, leaf, { steps: 1 });
    }
    builder.tree(run, 'open');
    await givenEvents(database.db, builder.events);
    const ordering = TRAJECTORY_ORDERINGS[direction === 'asc' ? 'RETURN_ASC' : 'RETURN_DESC'];
    const page = async (request: { readonly after?: string; readonly before?: string }) => {
      const towards = request.before === undefined ? 'forwards' : 'backwards';
      const { after = null, before = null } = request;
      const [found] = await readTrajectories(database.db, [{ runId: run }], ordering, { limit: 2, towards, after, before });
      return found?.rows ?? [];
    };
    const forwards = [...(await page({}))];
    for (
      let next = await page({ after: forwards.at(-1)?.cursor ?? '' });
      next.length > 0;
      next = await page({ after: forwards.at(-1)?.cursor ?? '' })
    )
      forwards.push(...next);
    const known = direction === 'asc' ? [1, 2, 3] : [3, 2, 1];
    expect(forwards.map(({ row }) => row.return)).toEqual([...known, null, null]);
    const backwards = [...forwards.slice(-1)];
    for (
      let next = await page({ before: backwards[0]?.cursor ?? '' });
      next.length > 0;
      next = await page({ before: backwards[0]?.cursor ?? '' })
    )
      backwards.unshift(...next);
    expect(backwards.map(({ row }) => row.id)).toEqual(forwards.map(({ row }) => row.id));
    const joined = joinPages(
      forwards.toReversed().map((row) => ({ rows: [row], hasPrevious: false, hasNext: false })),
      ordering,
      { limit: 5, towards: 'forwards', after: null, before: null },
    );
    expect(joined.rows.map(({ row }) => row.id)).toEqual(forwards.map(({ row }) => row.id));
  },
);
