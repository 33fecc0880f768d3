import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { sumAmounts } from '../../domain/reward/amount.ts';
import { EventBuilder } from '../../testing/event-builder.ts';
import { givenEvents } from '../../testing/given-events.ts';
import { useTestDatabase } from '../../testing/use-test-database.ts';
import { findMiscounted } from './find-miscounted.ts';
import { readFailureReasons, readLastReturns, readRunActivity } from './read-run-activity.ts';
import { readRunTotals } from './read-run-totals.ts';
import { RUN_ORDERINGS, readRuns } from './read-runs.ts';

const database = useTestDatabase({ emptied: 'before-each' });

function record(name: string) {
  const builder = new EventBuilder(name);
  const run = builder.run(name);
  const tree = builder.tree(run, 'tree');
  for (const [ordinal, value] of [0.1, 0.2, 0.7].entries()) {
    const rolloutId = builder.rollout(tree, ordinal);
    const usage = { promptTokens: 10, completionTokens: ordinal };
    const leaf = builder.step(tree, rolloutId, tree.rootStepId, 1, { usage });
    const reward = builder.reward(tree, leaf, 5, { rolloutId });
    builder.finishRollout(tree, rolloutId, leaf, { steps: 1, success: ordinal === 2 });
    builder.record(
      'RewardRevised',
      { rewardId: reward, treeId: tree.treeId, value, scorer: { name: 'environment', revision: '2' }, reason: 'judged again' },
      run,
    );
  }
  const failed = builder.rollout(tree, 3);
  builder.finishRollout(tree, failed, tree.rootStepId, { steps: 0, success: null, outcome: 'failed', reason: 'no answer' });
  return { builder, run, treeId: tree.treeId };
}

test('totals are what a full count finds, also where rewards are revised behind the end of a rollout', async () => {
  const { builder, run } = record('counted');
  await givenEvents(database.db, builder.events);
  expect(await readRunTotals(database.db, [run])).toEqual([
    {
      runId: run,
      trees: 1,
      closedTrees: 0,
      rollouts: 4,
      terminated: 3,
      truncated: 0,
      failed: 1,
      cancelled: 0,
      steps: 3,
      successes: 1,
      successRate: 0.25,
      rewarded: 3,
      meanReturn: sumAmounts([0.1, 0.2, 0.7]) / 3,
      promptTokens: 30,
      completionTokens: 3,
      unclearCalls: 0,
      lostParts: 0,
    },
  ]);
  expect(await findMiscounted(database.db)).toEqual([]);
});

test('a count that differs from a full count is found, with its run', async () => {
  const { builder, run } = record('miscounted');
  await givenEvents(database.db, builder.events);
  await sql`update run_counts set steps = steps - 1`.execute(database.db);
  await sql`delete from run_returns`.execute(database.db);
  await sql`update run_events set events = events + 1`.execute(database.db);
  expect((await findMiscounted(database.db)).filter(({ runId }) => runId === run)).toEqual([
    { table: 'run_counts', runId: run },
    { table: 'run_returns', runId: run },
    { table: 'run_events', runId: run },
  ]);
});

test('a run shows its events, why rollouts failed, and its last returns in order', async () => {
  const { builder, run, treeId } = record('active');
  await givenEvents(database.db, builder.events);
  const [activity] = await readRunActivity(database.db, [run], 'now');
  expect(activity).toMatchObject({ runId: run, events: builder.events.length });
  expect(await readFailureReasons(database.db, [run])).toEqual([
    { runId: run, reason: 'no answer', rollouts: 1, rolloutId: expect.any(String), treeId },
  ]);
  expect((await readLastReturns(database.db, [run], 3)).map(({ value }) => value)).toEqual([0.2, 0.7]); // nobody rewarded the last one
});

test('runs are found by words of their name, their policy and a label, by an index each', async () => {
  const builder = new EventBuilder('found');
  const runs = ['train demo-1', 'Evaluate DEMO', 'other'].map((name) => builder.run(name));
  await givenEvents(database.db, builder.events);
  const named = async (filter: Parameters<typeof readRuns>[1][number]) => {
    const page = { limit: 10, towards: 'forwards', after: null, before: null } as const;
    const [found] = await readRuns(database.db, [filter], RUN_ORDERINGS.STARTED_ASC, page);
    return found?.rows.map(({ row }) => row.name);
  };
  expect(await named({ text: 'demo' })).toEqual(['train demo-1', 'Evaluate DEMO']);
  expect(await named({ text: 'DEM tra' })).toEqual(['train demo-1']);
  expect(await named({ text: (runs[2] ?? '').slice(0, 8) })).toEqual(['other']);
  expect(await named({ text: "'); drop table runs; -- :* & |" })).toEqual([]);
  expect(await named({ policyId: 'nobody' })).toEqual([]);
  expect(await named({ label: 'nothing' })).toEqual([]);
  await database.db.transaction().execute(async (trx) => {
    await sql`set local enable_seqscan = off`.execute(trx);
    for (const [where, index] of [
      [sql`environments @> '[{"environment": "x"}]'::jsonb`, 'runs_environments'],
      [
        sql`to_tsvector('simple'::regconfig, regexp_replace(lower(runs.run_id::text || ' ' || runs.name || ' ' || coalesce(runs.message, '')), '[^[:alnum:]]+', ' ', 'g')) @@ to_tsquery('simple', 'x:*')`,
        'runs_words',
      ],
    ] as const) {
      const { rows } = await sql<Record<string, string>>`explain select * from runs where ${where}`.execute(trx);
      expect(JSON.stringify(rows)).toContain(index);
    }
  });
});
