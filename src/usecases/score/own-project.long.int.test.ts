import { expect, test } from '@jest/globals';
import { newId } from '../../events/new-id.ts';
import { readOwners } from '../../projections/owners/read-owners.ts';
import { settle } from '../../testing/crashing-run.ts';
import { useTestPlatform } from '../../testing/use-test-platform.ts';
import { collect } from '../collect/collect.ts';
import type { CollectPlan } from '../collect/plan.ts';
import { fork, planFork } from '../fork/fork.ts';
import { revise } from '../revise/revise.ts';
import { score } from './score.ts';

const platform = useTestPlatform({ opened: 'once', projector: 'running' });
const { signal } = new AbortController();

test('what is appended to a run later, and a run that goes on from it, belong to its project, whichever project the process works for', async () => {
  const { db } = platform.database;
  const projectsOf = async (runId: string) => {
    const bodies = await db.selectFrom('events').select(['type', 'body']).where('correlationId', '=', runId).execute();
    return bodies.map(({ type, body }) => ({ type, project: JSON.parse(body).project }));
  };
  const runId = newId();
  const plan: CollectPlan = {
    environment: 'textcraft',
    tasks: [{ alias: '40', rollouts: 3, branching: 'root' }],
    taskSeed: 0,
    policy: 'planner:0.4',
    temperature: 1,
    maxSteps: 8,
    search: { iterations: 4, candidates: 3, maxDepth: 6, exploration: 0.25 },
  };
  const theirs = { ...platform, stamp: { principal: 'local', project: 'team-b' } };
  await collect(theirs, { runId, name: 'theirs', seed: 3, plan, concurrency: 1, mode: 'new', signal });
  await settle(platform);

  expect(platform.stamp.project).toBe('default');
  await score(platform, { runId, scorer: 'invalid-action', component: null, environment: null, signal });
  await settle(platform);
  await revise(platform, {
    runId,
    judge: 'planner',
    environment: null,
    checking: 'none',
    concurrency: 1,
    signal,
    plan: { alpha: 0.5, beta: 0.2, seed: 1, unparsed: 'continue', signal: 'thought', beforeBranch: 'clamp' },
  });
  await settle(platform);
  const { stepId } = await db
    .selectFrom('steps as s')
    .innerJoin('trees as t', 't.treeId', 's.treeId')
    .select('s.stepId')
    .where('t.runId', '=', runId)
    .where('s.depth', '=', 1)
    .where('s.termination', '=', 'none')
    .orderBy('s.stepId')
    .executeTakeFirstOrThrow();
  const forkId = newId();
  const onward = await planFork(platform, stepId, { rollouts: 1 });
  await fork(platform, { runId: forkId, name: 'onward', seed: 7, plan: onward, concurrency: 1, signal });
  await settle(platform);

  const recorded = [...(await projectsOf(runId)), ...(await projectsOf(forkId))];
  const types = new Set(recorded.map(({ type }) => type));
  for (const type of ['RewardAssigned', 'StepJudged', 'ReplayFinished', 'RunStarted']) expect(types).toContain(type);
  expect(recorded.filter(({ project }) => project !== 'team-b')).toEqual([]);
  const owners = await readOwners(db, 'runs', [runId, forkId]);
  expect([...owners.values()].map(({ project }) => project)).toEqual(['team-b', 'team-b']);

  // of its own run nothing changes
  const ours = newId();
  await collect(platform, { runId: ours, name: 'ours', seed: 3, plan, concurrency: 1, mode: 'new', signal });
  await settle(platform);
  expect(new Set((await projectsOf(ours)).map(({ project }) => project))).toEqual(new Set(['default']));
});
