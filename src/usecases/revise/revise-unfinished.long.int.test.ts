import { expect, test } from '@jest/globals';
import { type Selectable, sql } from 'kysely';
import { TOPICS } from '../../events/catalogue.ts';
import { newId } from '../../events/new-id.ts';
import type { EventLog } from '../../log/event-log.ts';
import type { Tables } from '../../postgres/tables.ts';
import { waitUntilProjected } from '../../projections/wait-until.ts';
import { appenderAs } from '../../testing/appender-as.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { collect } from '../collect/collect.ts';
import type { CollectPlan } from '../collect/plan.ts';
import { verifyRecord } from '../verify/verify-record.ts';
import { type RevisionResult, revise } from './revise.ts';

const platform = useTestPlatform({ opened: 'once', projector: 'running' });

const PLAN: CollectPlan = {
  environment: 'textcraft',
  tasks: ['45', '1', '3'].map((alias) => ({ alias, rollouts: 1, branching: 'root' })),
  taskSeed: 0,
  policy: 'planner:0.35',
  temperature: 1,
  maxSteps: 8,
  search: { iterations: 3, candidates: 4, maxDepth: 6, exploration: 0.25 },
};

/**
 * Searches the tasks one after the other until so many walks succeeded. The last success is on record and not backed up,
 * where a log took only the beginning of an append.
 */
async function searchUntil(runId: string, successes: number, mode: 'new' | 'resume'): Promise<void> {
  const stop = new AbortController();
  await collect(
    { ...platform, log: withoutBackups(platform.log, successes) },
    {
      runId,
      name: 'r',
      seed: 3,
      plan: PLAN,
      concurrency: 1,
      mode,
      signal: stop.signal,
      progress: ({ succeeded }) => {
        if (succeeded >= successes) stop.abort();
      },
    },
  );
}

/** Leaves out the back-ups that follow so many successes. */
function withoutBackups(log: EventLog, successes: number): EventLog {
  let left = successes;
  const append: EventLog['append'] = (records) => {
    const kept = records.filter(({ event }) => {
      if (event?.type === 'RolloutFinished' && event.data.success) left--;
      return left > 0 || event?.type !== 'ValueBackedUp';
    });
    return log.append(kept);
  };
  return new Proxy(log, { get: (target, key) => (key === 'append' ? append : Reflect.get(target, key).bind(target)) });
}

async function reviseRun(runId: string): Promise<RevisionResult> {
  const revised = await revise(platform, {
    runId,
    plan: { alpha: 0.5, beta: 0.2, seed: 1, signal: 'thought', beforeBranch: 'clamp', unparsed: 'continue' },
    judge: 'direct',
    environment: null,
    checking: 'none',
    concurrency: 1,
    signal: new AbortController().signal,
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

/** Records a verified revision whose bad side is the walk to a leaf; returns its id. */
async function recordPast(row: Selectable<Tables['revisions']>, badLeafStepId: string): Promise<string> {
  const revisionId = newId();
  const appender = appenderAs('past', platform);
  const { rows } = await sql<{ root: string; first: string }>`
    with recursive path as (
      select step_id, parent_step_id, depth from steps where step_id = ${badLeafStepId}
      union all select s.step_id, s.parent_step_id, s.depth from steps s join path p on s.step_id = p.parent_step_id
    ) select (select step_id from path where depth = 0) as root, (select step_id from path where depth = 1) as first`.execute(
    platform.database.db,
  );
  const [{ root, first }] = rows as [(typeof rows)[0]]; // of a walk there are a root and a first step
  const about = { revisionId, treeId: row.treeId };
  const leaves = { goodLeafStepId: row.goodLeafStepId, badLeafStepId, branchStepId: root, transitionStepId: first };
  const mining = { transitionCause: row.transitionCause, judged: 0, reflection: row.reflection, signal: row.signal };
  const { alpha, beta, contentHash, runId: correlationId } = row;
  const judge = { name: 'j', revision: '1' };
  await appender.append([
    {
      type: 'RevisionComposed',
      id: newId(),
      correlationId,
      data: { ...about, ...leaves, ...mining, alpha, beta, judge, contentHash },
    },
    { type: 'RevisionVerified', id: newId(), correlationId, data: { ...about, reached: 1, threshold: 0.5 } },
  ]);
  await waitUntilProjected(platform.database.db, await platform.log.ends(TOPICS), { timeoutMs: 20_000 });
  return revisionId;
}

test('a success that a stopped search had not backed up is a good trajectory, and unfinished trees are reported', async () => {
  const runId = newId();
  await searchUntil(runId, 3, 'new');
  const stopped = await reviseRun(runId);
  const walks = await ends(runId);
  expect(walks.filter(({ success, counted }) => success && counted)).not.toEqual([]);
  expect(walks.filter(({ success, counted }) => success && !counted)).not.toEqual([]);
  const leaves = new Set(walks.filter(({ success }) => success).map(({ leaf }) => leaf));
  const mined = await platform.database.db.selectFrom('revisions').selectAll().where('runId', '=', runId).execute();
  expect(mined.length).toBeGreaterThan(0);
  expect(mined.filter((row) => leaves.has(row.badLeafStepId))).toEqual([]);
  expect(mined.filter((row) => !leaves.has(row.goodLeafStepId))).toEqual([]);
  expect(stopped).toMatchObject({ trees: 1, plannedTrees: 3, unfinished: 3, good: leaves.size });

  // A revision that was mined when such a success counted as nothing.
  const [row, success] = [mined[0], [...leaves].find((leaf) => leaf !== mined[0]?.goodLeafStepId)];
  if (!row || !success) throw new Error('two walks succeeded and something was mined');
  const past = await recordPast(row, success);
  const { faulty, doubtfulRevisions } = await verifyRecord(platform, { files: [], signal: new AbortController().signal });
  const { treeId } = row;
  expect([faulty, doubtfulRevisions]).toEqual([0, [{ revisionId: past, treeId, state: 'verified', why: 'bad-side' }]]);

  await searchUntil(runId, Number.POSITIVE_INFINITY, 'resume');
  const whole = await reviseRun(runId);
  expect(whole).toMatchObject({ trees: 3, plannedTrees: 3, unfinished: 0 });
  expect(whole.revisions).toBeGreaterThan(stopped.revisions);
});
