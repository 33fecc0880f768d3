import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { emptyReadModels } from '../../testing/read-models.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { AGGREGATE_BY, type AggregatePart, aggregate } from '../answers/aggregate.ts';
import { readPublishedMetrics } from '../answers/read-published-metrics.ts';
import { findMiscounted } from '../runs/find-miscounted.ts';

const database = useTestDatabase({ emptied: 'before-each' });
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
  return { builder, run, closed };
}

function call(builder: EventBuilder, run: string, { treeId }: { readonly treeId: string }, stepId: string, ordinal: number) {
  const toolCallId = builder.id('call', stepId, ordinal);
  const tool = ordinal === 0 ? 'search' : 'calculator';
  const said = { tool, arguments: '{}', output: 'found', outcome: ordinal === 0 ? 'ok' : 'error', durationMs: 0.3 } as const;
  builder.record('ToolCalled', { toolCallId, treeId, stepId, ordinal, ...said }, run);
}

const answers = async (run: string) => ({
  sums: await Promise.all(AGGREGATE_BY.map((by) => aggregate(database.db, by, { runIds: [run] }, PARTS))),
  ofVersion: await Promise.all(
    AGGREGATE_BY.map((by) => aggregate(database.db, by, { runIds: [run], policyId: 'p', policyVersion: 1 }, PARTS)),
  ),
  metrics: await readPublishedMetrics(database.db, run),
});

async function summedTrees(): Promise<readonly string[]> {
  const { rows } = await sql<{ treeId: string }>`select distinct tree_id from tree_sums order by 1`.execute(database.db);
  return rows.map(({ treeId }) => treeId);
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

test('sums are kept of closed trees, and every answer is the same where none are kept', async () => {
  const { builder, run, closed } = record();
  await givenEvents(database.db, builder.events);
  expect(await summedTrees()).toEqual([closed.treeId]);
  expect(await findMiscounted(database.db)).toEqual([]);
  const kept = await answers(run);
  expect(kept.sums[0]?.[0]).toMatchObject({
    rollouts: { rollouts: 6, successes: 2 },
    steps: { steps: 8, executable: 6, promptTokens: 66, completionTokens: 6 },
    tools: { calls: 6, errors: 0 },
  });
  await sql`delete from tree_sums`.execute(database.db);
  await sql`delete from tree_tools`.execute(database.db);
  expect(await answers(run)).toEqual(kept);
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
  await sql`update run_versions set finished = finished + 1`.execute(database.db);
  expect(await findMiscounted(database.db)).toEqual([{ table: 'run_versions', runId: run }]);
});

test('a step, a call and an end that come behind the close of their tree are summed up with it, in any batches', async () => {
  const { builder, run, closed } = record();
  const rolloutId = builder.rollout(closed, 3, { policy: { policyId: 'p', version: 7 } });
  const leaf = builder.step(closed, rolloutId, closed.rootStepId, 1);
  call(builder, run, closed, leaf, 1);
  builder.finishRollout(closed, rolloutId, leaf, { steps: 1, success: true });
  for (const event of builder.events) await givenEvents(database.db, [event]);
  expect(await findMiscounted(database.db)).toEqual([]);
  const [search] = await aggregate(database.db, 'POLICY_VERSION', { runIds: [run], policyVersion: 7 }, PARTS);
  expect(search).toMatchObject({ rollouts: { rollouts: 1, successes: 1 }, steps: { steps: 1 }, tools: { calls: 1, errors: 1 } });
});

test('a sum that is wrong, missing or of no tree is found', async () => {
  const { builder, closed } = record();
  const damages = [
    sql`update tree_sums set prompt_tokens = prompt_tokens + 1 where policy_version = 0`,
    sql`update tree_tools set rollout_ids = '{}'`,
    sql`delete from tree_sums`,
    sql`insert into tree_tools select ${closed.runId}::uuid, 'none', policy_id, policy_version, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, '{}' from tree_tools limit 1`,
  ];
  for (const damage of damages) {
    await emptyReadModels(database.db);
    await givenEvents(database.db, builder.events);
    await damage.execute(database.db);
    expect(await findMiscounted(database.db)).not.toEqual([]);
  }
});
