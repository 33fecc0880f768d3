import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { TOPICS } from '../events/catalogue.ts';
import { newId } from '../events/new-id.ts';
import type { Subscription } from '../log/event-log.ts';
import { collectInto } from '../platform/collect-into.ts';
import type { Platform } from '../platform/open-platform.ts';
import { type Revised, reviseInto } from '../platform/revise-into.ts';
import { runProjections } from '../projections/runner.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { openTestPlatform } from '../testing/open-test-platform.ts';
import type { CollectPlan } from './plan.ts';

let platform: Platform;
let projector: Subscription;
beforeAll(async () => {
  platform = await openTestPlatform();
  projector = await runProjections({ log: platform.log, database: platform.database });
});
afterAll(async () => {
  await projector.close();
  await platform.close();
});

const PLAN: CollectPlan = {
  environment: 'textcraft',
  tasks: ['45', '1', '3'].map((alias) => ({ alias, rollouts: 1, branching: 'root' })),
  taskSeed: 0,
  policy: 'planner:0.35',
  temperature: 1,
  maxSteps: 8,
  search: { iterations: 3, candidates: 4, maxDepth: 6, exploration: 0.25 },
};

/** Searches the tasks one after the other until so many walks succeeded: the last success is on record and not backed up. */
async function searchUntil(runId: string, successes: number, mode: 'new' | 'resume'): Promise<void> {
  const stop = new AbortController();
  await collectInto(platform, {
    ...{ runId, name: 'r', seed: 3, plan: PLAN, concurrency: 1, mode },
    signal: stop.signal,
    progress: ({ succeeded }) => {
      if (succeeded >= successes) stop.abort();
    },
  });
}

async function revise(runId: string): Promise<Revised> {
  const revised = await reviseInto(platform, {
    runId,
    plan: { alpha: 0.5, beta: 0.2, seed: 1, signal: 'thought', beforeBranch: 'clamp', unparsed: 'continue' },
    ...{ judge: 'direct', environment: null, checking: 'none', concurrency: 1, signal: new AbortController().signal },
  });
  await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 20_000 });
  return revised;
}

/** The ends of the walks of a run by success and by whether the search has counted them. */
async function ends(runId: string) {
  const { rows } = await sql<{ success: boolean; counted: boolean; leaf: string }>`
    select o.success, coalesce(n.visits, 0) > 0 as counted, o.leaf_step_id as leaf from rollouts o
    join trees t using (tree_id) left join node_statistics n on n.step_id = o.leaf_step_id where t.run_id = ${runId}`.execute(
    platform.database.db,
  );
  return rows;
}

test('a success that a stopped search had not backed up is a good trajectory, and unfinished trees are reported', async () => {
  const runId = newId();
  await searchUntil(runId, 3, 'new');
  const stopped = await revise(runId);
  const walks = await ends(runId);
  expect(walks.filter(({ success, counted }) => success && counted)).not.toEqual([]);
  expect(walks.filter(({ success, counted }) => success && !counted)).not.toEqual([]);
  const leaves = new Set(walks.filter(({ success }) => success).map(({ leaf }) => leaf));
  const mined = await platform.database.db.selectFrom('revisions').selectAll().where('run_id', '=', runId).execute();
  expect(mined.length).toBeGreaterThan(0);
  expect(mined.filter((row) => leaves.has(row.bad_leaf_step_id))).toEqual([]);
  expect(mined.filter((row) => !leaves.has(row.good_leaf_step_id))).toEqual([]);
  expect(stopped).toMatchObject({ trees: 1, plannedTrees: 3, unfinished: 3, good: leaves.size });

  await searchUntil(runId, Number.POSITIVE_INFINITY, 'resume');
  const whole = await revise(runId);
  expect(whole).toMatchObject({ trees: 3, plannedTrees: 3, unfinished: 0 });
  expect(whole.revisions).toBeGreaterThan(stopped.revisions);
});
