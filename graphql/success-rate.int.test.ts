import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { measureEpisodes } from '../src/domain/evaluation/measure-episodes.ts';
import { readTaskResults } from '../src/projections/analysis/read-task-results.ts';
import { readEpisodes } from '../src/projections/evaluations/read-evaluations.ts';
import { EventBuilder } from '../src/testing/event-builder.ts';
import { givenEvents } from '../src/testing/given-events.ts';
import { openTestGraphql, type TestGraphql } from './testing/open-test-graphql.ts';

const builder = new EventBuilder('success');
const run = builder.run('measured', { policy: { policyId: 'linear', version: 0 } });
const other = builder.run('the same tasks', { policy: { policyId: 'linear', version: 0 } });
/** Of five that are finished one succeeded; a sixth goes on. */
const ENDS = [
  { outcome: 'terminated', success: true },
  { outcome: 'terminated', success: false },
  { outcome: 'truncated', success: null },
  { outcome: 'failed', success: null },
  { outcome: 'cancelled', success: null },
] as const;
const RATE = 0.2;

function grown(runId: string): void {
  const tree = builder.tree(runId, 'shelf', {
    task: {
      taskId: builder.id('task', 'shelf'),
      environment: 'alfworld',
      serverFingerprint: 'w',
      observationHash: 'a'.repeat(64),
      alias: 'train/pick_and_place_simple/0',
      goal: 'put some pen on shelf.',
      depth: 2,
      split: 'train',
    },
  });
  for (const [ordinal, end] of ENDS.entries()) {
    const rolloutId = builder.rollout(tree, ordinal, { policy: { policyId: 'linear', version: 0 } });
    const leaf = builder.step(tree, rolloutId, tree.rootStepId, 1, {});
    const about = { toolCallId: builder.id('call', rolloutId), treeId: tree.treeId, stepId: leaf, ordinal: 0 };
    builder.record('ToolCalled', { ...about, tool: 'look', arguments: '', output: '', outcome: 'ok', durationMs: 1 }, runId);
    builder.finishRollout(tree, rolloutId, leaf, { steps: 1, ...end });
  }
  builder.rollout(tree, ENDS.length, { policy: { policyId: 'linear', version: 0 } });
}

const partly = builder.run('one task judged');
const again = builder.run('both tasks judged');
const unjudged = builder.run('no task judged');

/** One rollout of one task. */
function ended(runId: string, alias: string, success: boolean | null): void {
  const about = {
    environment: 'textcraft',
    serverFingerprint: 'w',
    observationHash: 'a'.repeat(64),
    goal: alias,
    depth: 1,
    split: 'test',
  };
  const tree = builder.tree(runId, `${runId} ${alias}`, { task: { ...about, taskId: builder.id('task', alias), alias } });
  const rolloutId = builder.rollout(tree, 0);
  const leaf = builder.step(tree, rolloutId, tree.rootStepId, 1, {});
  const outcome = success === null ? 'truncated' : 'terminated';
  builder.finishRollout(tree, rolloutId, leaf, { steps: 1, outcome, success });
}

let api: TestGraphql;
beforeAll(async () => {
  ended(partly, 'done', true);
  ended(partly, 'too long', null);
  ended(again, 'done', true);
  ended(again, 'too long', false);
  ended(unjudged, 'talk', null);
  grown(run);
  grown(other);
  api = await openTestGraphql();
  await givenEvents(api.database.db, builder.events);
});
afterAll(() => api.close());

async function data(query: string) {
  const { data: found, errors } = await api.ask(query);
  expect(errors).toBeUndefined();
  return found;
}

test.each(['RUN', 'TASK', 'DEPTH', 'KIND', 'POLICY_VERSION', 'ENVIRONMENT', 'TOOL'])(
  'summed up by %s, what was cut off, failed or was cancelled counts as finished and as no success',
  async (by) => {
    const { aggregate } = await data(
      `{ aggregate(by: ${by}, filter: { runs: ["${run}"] }) { rollouts { finished successes successRate } } }`,
    );
    expect(aggregate).toEqual([{ rollouts: { finished: 5, successes: 1, successRate: RATE } }]);
  },
);

const achievedIn = async (id: string) =>
  (await readTaskResults(api.database.db, [id])).map(({ successRate }) => successRate).sort();

test('a task that was only cut off counts as 0 next to tasks that were judged, and as nothing where none was', async () => {
  expect(await achievedIn(partly)).toEqual([0, 1]);
  expect(await achievedIn(unjudged)).toEqual([null]);
  const found = await data(`{
    partly: run(id: "${partly}") { totals { successRate } }
    unjudged: run(id: "${unjudged}") { totals { successRate } }
    compare(runs: ["${again}", "${partly}"]) { success { tasks baselineMean mean } } }`);
  expect(found).toEqual({
    partly: { totals: { successRate: 0.5 } },
    unjudged: { totals: { successRate: null } },
    compare: [{ success: { tasks: 2, baselineMean: 0.5, mean: 0.5 } }],
  });
});

test('a run, its depths, its tasks, what it is compared by, what published tables say and an evaluation have the same success rate', async () => {
  const found = await data(`{
    run(id: "${run}") { totals { successRate } successByDepth { successRate } publishedMetrics { name value count } }
    tasks(filter: { run: "${run}" }) { nodes { totals { successRate } } }
    compare(runs: ["${other}", "${run}"]) { success { baselineMean mean } } }`);
  expect(found.run.totals).toEqual({ successRate: RATE });
  expect(found.run.successByDepth).toEqual([{ successRate: RATE }]);
  expect(found.run.publishedMetrics.filter(({ name }: { name: string }) => name.endsWith('success_rate'))).toEqual([
    { name: 'episode/success_rate', value: RATE, count: 5 },
    { name: 'episode/pick_and_place_success_rate', value: RATE, count: 5 },
  ]);
  expect(found.tasks.nodes).toEqual([{ totals: { successRate: RATE } }]);
  expect(found.compare).toEqual([{ success: { baselineMean: RATE, mean: RATE } }]);
  expect(await achievedIn(run)).toEqual([RATE]);
  const episodes = await readEpisodes(api.database.db, run);
  expect(measureEpisodes(episodes, { confidence: 0.95, resamples: 10, seed: 1 })).toMatchObject({
    episodes: 5,
    successRate: RATE,
    byDepth: [{ taskDepth: 2, episodes: 5, successes: 1 }],
  });
});
