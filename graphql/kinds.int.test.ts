import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { EventBuilder } from '../src/testing/event-builder.ts';
import { givenEvents } from '../src/testing/given-events.ts';
import { openTestGraphql, type TestGraphql } from './testing/open-test-graphql.ts';

const builder = new EventBuilder('kinds');
const run = builder.run();
const TASKS = [
  { environment: 'alfworld', alias: 'train/pick_heat_then_place_in_recep/1', success: true },
  { environment: 'alfworld', alias: 'train/pick_heat_then_place_in_recep/2', success: false },
  { environment: 'alfworld', alias: 'train/pick_and_place_simple/1', success: true },
  { environment: 'scienceworld', alias: 'boil/3', kind: 'boil', success: false },
  { environment: 'textcraft', alias: 'stick', success: true },
] as const;
/** Of another run: questions of two data sources, and one that names none. */
const questions = builder.run('questions');
const QUESTIONS = [
  { environment: 'search-qa', alias: 'q1', kind: 'nq', success: true },
  { environment: 'search-qa', alias: 'q2', kind: 'nq', success: false },
  { environment: 'tool-env', alias: 'q3', kind: 'hotpotqa', success: true },
  { environment: 'tool-env', alias: 'q4', success: true },
] as const;

let api: TestGraphql;
beforeAll(async () => {
  const tasks = [...TASKS.map((task) => ({ ...task, of: run })), ...QUESTIONS.map((task) => ({ ...task, of: questions }))];
  for (const { environment, alias, success, of, ...named } of tasks) {
    const tree = builder.tree(of, alias, {
      task: {
        taskId: builder.id('task', alias),
        environment,
        serverFingerprint: 'w',
        observationHash: 'a'.repeat(64),
        alias,
        goal: 'do it',
        depth: null,
        split: null,
        ...named,
      },
    });
    const rolloutId = builder.rollout(tree, 0);
    const leaf = builder.step(tree, rolloutId, tree.rootStepId, 1, { termination: 'terminated' });
    const about = { toolCallId: builder.id('call', alias), treeId: tree.treeId, stepId: leaf, ordinal: 0 };
    builder.record('ToolCalled', { ...about, tool: 'look', arguments: '', output: '', outcome: 'ok', durationMs: 1 }, of);
    builder.finishRollout(tree, rolloutId, leaf, { steps: 1, success });
  }
  api = await openTestGraphql();
  await givenEvents(api.database.db, builder.events);
});
afterAll(() => api.close());

async function data(query: string) {
  const { data: found, errors } = await api.ask(query);
  expect(errors).toBeUndefined();
  return found;
}

test('success is summed up by the kind of task: as the environment names it, of ALFWorld also as the alias says', async () => {
  const { aggregate } = await data(
    `{ aggregate(by: KIND, filter: { runs: ["${run}"] }) { taskKind rollouts { finished successRate } steps { steps } tools { calls } } }`,
  );
  const one = (taskKind: string | null, finished: number, successRate: number) => ({
    taskKind,
    rollouts: { finished, successRate },
    steps: { steps: finished },
    tools: { calls: finished },
  });
  expect(aggregate).toEqual([
    one('boil', 1, 0),
    one('pick_and_place', 1, 1),
    one('pick_heat_then_place_in_recep', 2, 0.5),
    one(null, 1, 1),
  ]);
});

test('published metrics have the success of each kind of ALFWorld as it is summed up, and of no other kind', async () => {
  const { run: found } = await data(`{ run(id: "${run}") { publishedMetrics { name value count } } }`);
  const rates = found.publishedMetrics.filter(({ name }: { name: string }) => name.endsWith('_success_rate'));
  expect(rates).toEqual([
    { name: 'episode/pick_and_place_success_rate', value: 1, count: 1 },
    { name: 'episode/pick_heat_then_place_in_recep_success_rate', value: 0.5, count: 2 },
  ]);
});

test('published metrics have the success of each data source of questions', async () => {
  const { run: found } = await data(`{ run(id: "${questions}") { publishedMetrics { name value count } } }`);
  const rates = found.publishedMetrics.filter(({ name }: { name: string }) => name.endsWith('_success_rate'));
  expect(rates).toEqual([
    { name: 'episode/nq_success_rate', value: 0.5, count: 2 },
    { name: 'episode/hotpotqa_success_rate', value: 1, count: 1 },
  ]);
});

test('tasks, trees, steps, tool calls and sums are chosen by the kind of their task', async () => {
  const kind = 'pick_heat_then_place_in_recep';
  const found = await data(`{
    tasks(filter: { kind: "${kind}" }) { totalCount nodes { alias kind } } trees(filter: { taskKind: "${kind}" }) { totalCount }
    steps(filter: { taskKind: "${kind}", depth: { from: 1 } }) { totalCount count(upTo: 1) { count complete } }
    toolCalls(filter: { taskKind: "${kind}" }) { totalCount count { count complete } } samples(filter: { taskKind: "${kind}" }) { totalCount }
    aggregate(by: RUN, filter: { runs: ["${run}"], taskKind: "${kind}" }) { rollouts { finished } } }`);
  expect(found).toEqual({
    tasks: {
      totalCount: 2,
      nodes: [1, 2].map((number) => ({ alias: `train/${kind}/${number}`, kind })),
    },
    trees: { totalCount: 2 },
    steps: { totalCount: 2, count: { count: 1, complete: false } },
    toolCalls: { totalCount: 2, count: { count: 2, complete: true } },
    samples: { totalCount: 0 },
    aggregate: [{ rollouts: { finished: 2 } }],
  });
});

test('the key of a group names its kind, and a page goes on behind it', async () => {
  const ask = (after: string) => data(`{ aggregate(by: KIND, filter: { runs: ["${run}"] }, first: 1${after}) { key taskKind } }`);
  const [first] = (await ask('')).aggregate;
  const [second] = (await ask(`, after: ${JSON.stringify(first.key)}`)).aggregate;
  expect([first.taskKind, second.taskKind]).toEqual(['boil', 'pick_and_place']);
});
