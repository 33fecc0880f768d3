import { sql } from 'kysely';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { onlyOne } from '../ambiguous-id.ts';
import { oneStep, rolloutsThrough, seedOfTrees, seedOverRollout, seedThroughStep } from './recall-seeds.ts';
import { type Finder, oneStream, readOne } from './trace-links.ts';

/** A run: what it collected, and all that was made of it. */
export const findRun: Finder = async (db, id) => {
  const run = await readOne(
    db,
    sql<{ name: string; kind: string; at: Date; outcome: string | null; policy: string | null }>`
      select name, kind, started_at as at, outcome, policy_id || '@' || policy_version as policy from runs where run_id = ${id}`,
  );
  if (!run) return null;
  return {
    kind: 'run',
    id,
    title: `${run.kind} ${run.name} by ${run.policy ?? 'no policy'}, ${run.outcome ?? 'open'}, begun ${run.at.toISOString()}`,
    madeBy: { streams: oneStream(id), types: ['RunStarted', 'RunFinished'], field: 'runId', named: id },
    from: [
      {
        relation: 'experiment',
        query: sql`select e.experiment_id as id, e.name as text from runs r join experiments e on e.experiment_id = r.experiment_id where r.run_id = ${id}`,
      },
      {
        relation: 'policy version that acted',
        query: sql`select policy_id || '@' || policy_version as id, '' as text from runs where run_id = ${id} and policy_id is not null`,
      },
      {
        relation: 'step that it goes on from',
        query: sql`select config #>> '{fork,stepId}' as id, 'of run ' || (config #>> '{fork,runId}') as text from runs where run_id = ${id} and kind = 'fork'`,
      },
    ],
    usedBy: [
      {
        relation: 'forks',
        query: sql`select run_id as id, name as text from runs where kind = 'fork' and config #>> '{fork,runId}' = ${id} order by started_at, run_id`,
      },
      {
        relation: 'trees',
        query: sql`select tree_id as id, goal as text from trees where run_id = ${id} order by opened_at, tree_id`,
      },
      {
        relation: 'replays',
        query: sql`select replay_id as id, mode || ': ' || outcome as text from replays where run_id = ${id} order by finished_at`,
      },
    ],
    seed: seedOfTrees(sql`t.run_id = ${id}`),
  };
};

/** A tree: a group of rollouts on one task. */
export const findTree: Finder = async (db, id) => {
  const [tree] = await rowsWhere(db, 'trees', { treeId: id }, ['goal', 'environment', 'closeReason']);
  if (!tree) return null;
  return {
    kind: 'tree',
    id,
    title: `${tree.environment}: ${tree.goal} (${tree.closeReason ?? 'open'})`,
    madeBy: { streams: oneStream(id), types: ['TreeOpened', 'TreeClosed'], field: 'treeId', named: id },
    from: [
      {
        relation: 'run',
        query: sql`select r.run_id as id, r.name as text from trees t join runs r on r.run_id = t.run_id where t.tree_id = ${id}`,
      },
      {
        relation: 'task',
        query: sql`select task_id as id, coalesce(nullif(goal, ''), alias) as text from trees where tree_id = ${id}`,
      },
    ],
    usedBy: [
      {
        relation: 'rollouts',
        query: sql`select rollout_id as id, coalesce(outcome, 'goes on') as text from rollouts where tree_id = ${id} order by ordinal, rollout_id`,
      },
      {
        relation: 'revisions',
        query: sql`select revision_id as id, state as text from revisions where tree_id = ${id} order by log_offset`,
      },
      {
        relation: 'images',
        query: sql`select image_id as id, 'shown at step ' || step_id as text from history_images where tree_id = ${id} order by log_offset`,
      },
    ],
    seed: seedOfTrees(sql`t.tree_id = ${id}`),
  };
};

/** A step: an action and what followed. */
export const findStep: Finder = async (db, id, inTree) => {
  const { rows } = await sql<{ treeId: string; depth: number; action: string }>`
    select tree_id, depth, left(action, 200) as action from steps where step_id = ${id}`.execute(db);
  const step = onlyOne({ kind: 'step', id, treeId: inTree }, rows);
  if (!step) return null;
  const { treeId } = step;
  const root = step.depth === 0;
  return {
    kind: 'step',
    id,
    title: root ? 'the root of a tree: its first observation' : `depth ${step.depth}: ${step.action}`,
    madeBy: {
      streams: oneStream(treeId),
      types: root ? ['TreeOpened'] : ['StepTaken'],
      field: root ? 'rootStepId' : 'stepId',
      named: id,
    },
    from: [
      { relation: 'tree', query: sql`select tree_id as id, goal as text from trees where tree_id = ${treeId}` },
      {
        relation: 'step before',
        query: sql`select parent_step_id as id, '' as text from steps where step_id = ${id} and tree_id = ${treeId} and parent_step_id is not null`,
      },
      {
        relation: 'rollout',
        query: sql`select rollout_id as id, '' as text from steps where step_id = ${id} and tree_id = ${treeId} and rollout_id is not null`,
      },
      {
        relation: 'policy version that acted',
        query: sql`
          select distinct (p ->> 'policyId') || '@' || (p ->> 'version') as id, '' as text
          from steps, jsonb_array_elements(policy_spans) p where step_id = ${id} and tree_id = ${treeId} order by 1`,
      },
      {
        relation: 'image that was shown',
        query: sql`select image_id as id, history as text from history_images where step_id = ${id} and tree_id = ${treeId}`,
      },
    ],
    usedBy: [
      {
        relation: 'rewards',
        query: sql`select reward_id as id, component || ' ' || value as text from rewards where step_id = ${id} and tree_id = ${treeId} order by reward_id`,
      },
      {
        relation: 'forks',
        query: sql`select run_id as id, name as text from runs where kind = 'fork' and config #>> '{fork,stepId}' = ${id}
          and config #>> '{fork,treeId}' = ${treeId} order by started_at, run_id`,
      },
      {
        relation: 'steps after',
        query: sql`select step_id as id, left(action, 80) as text from steps where tree_id = ${treeId} and parent_step_id = ${id} order by log_offset`,
      },
    ],
    seed: seedThroughStep(treeId, id),
  };
};

/** A rollout: one walk of a policy. */
export const findRollout: Finder = async (db, id, inTree) => {
  const { rows } = await sql<{ treeId: string; policy: string; outcome: string | null; steps: number | null }>`
    select tree_id, policy_id || '@' || policy_version as policy, outcome, steps from rollouts where rollout_id = ${id}`.execute(
    db,
  );
  const rollout = onlyOne({ kind: 'rollout', id, treeId: inTree }, rows);
  if (!rollout) return null;
  const { treeId } = rollout;
  return {
    kind: 'rollout',
    id,
    title: `${rollout.steps ?? '?'} steps by ${rollout.policy}, ${rollout.outcome ?? 'goes on'}`,
    madeBy: { streams: oneStream(treeId), types: ['RolloutStarted', 'RolloutFinished'], field: 'rolloutId', named: id },
    from: [
      { relation: 'tree', query: sql`select tree_id as id, goal as text from trees where tree_id = ${treeId}` },
      {
        relation: 'began at step',
        query: sql`select from_step_id as id, '' as text from rollouts where rollout_id = ${id} and tree_id = ${treeId}`,
      },
      {
        relation: 'policy version that acted',
        query: sql`select policy_id || '@' || policy_version as id, '' as text from rollouts where rollout_id = ${id} and tree_id = ${treeId}`,
      },
    ],
    usedBy: [
      {
        relation: 'steps',
        query: sql`select step_id as id, left(action, 80) as text from steps where tree_id = ${treeId} and rollout_id = ${id} order by log_offset`,
      },
      {
        relation: 'rewards',
        query: sql`select reward_id as id, component || ' ' || value as text from rewards where rollout_id = ${id} and tree_id = ${treeId} order by reward_id`,
      },
    ],
    seed: seedOverRollout(treeId, id),
  };
};

/** A reward, with every judgement of it. */
export const findReward: Finder = async (db, id, inTree) => {
  const { rows } = await sql<{
    treeId: string;
    stepId: string | null;
    rolloutId: string | null;
    component: string;
    value: number;
    scorer: string;
  }>`
    select tree_id, step_id, rollout_id, component, value, scorer || '@' || scorer_revision as scorer
    from rewards where reward_id = ${id}`.execute(db);
  const reward = onlyOne({ kind: 'reward', id, treeId: inTree }, rows);
  if (!reward) return null;
  const { treeId, stepId, rolloutId } = reward;
  return {
    kind: 'reward',
    id,
    title: `${reward.component} ${reward.value} by ${reward.scorer}`,
    madeBy: { streams: oneStream(treeId), types: ['RewardAssigned', 'RewardRevised'], field: 'rewardId', named: id },
    from: [
      { relation: 'tree', query: sql`select tree_id as id, goal as text from trees where tree_id = ${treeId}` },
      ...(stepId === null ? [] : [{ relation: 'step', query: sql`select ${stepId}::uuid as id, '' as text` }]),
      ...(rolloutId === null ? [] : [{ relation: 'rollout', query: sql`select ${rolloutId}::uuid as id, '' as text` }]),
    ],
    usedBy: [
      {
        relation: 'judged again',
        query: sql`select event_id as id, value || ' by ' || scorer || '@' || scorer_revision as text from reward_revisions
          where reward_id = ${id} and tree_id = ${treeId} order by ordinal`,
      },
    ],
    seed: {
      kind: 'rollouts',
      rollouts: stepId === null ? sql`select ${rolloutId}::uuid, ${treeId}::uuid` : rolloutsThrough(oneStep(treeId, stepId)),
      steps: null,
    },
  };
};

/** A task: a problem instance, which many runs may have tried. */
export const findTask: Finder = async (db, id) => {
  const ofTask = db.selectFrom('trees').where('taskId', '=', id);
  const task = await ofTask.select(['alias', 'goal', 'environment']).limit(1).executeTakeFirst();
  if (!task) return null;
  return {
    kind: 'task',
    id,
    title: `${task.environment} ${task.alias}: ${task.goal}`,
    madeBy: null,
    from: [],
    usedBy: [
      {
        relation: 'trees',
        query: sql`select tree_id as id, 'run ' || run_id as text from trees where task_id = ${id} order by opened_at, tree_id`,
      },
    ],
    seed: seedOfTrees(sql`t.task_id = ${id}`),
  };
};

/** A revision trajectory, made of a good and a bad one. */
export const findRevision: Finder = async (db, id, inTree) => {
  const columns = ['treeId', 'state', 'judge', 'goodLeafStepId', 'badLeafStepId'] as const;
  const revision = onlyOne(
    { kind: 'revision', id, treeId: inTree },
    await rowsWhere(db, 'revisions', { revisionId: id }, columns),
  );
  if (!revision) return null;
  const { treeId, state, judge, goodLeafStepId: good, badLeafStepId: bad } = revision;
  return {
    kind: 'revision',
    id,
    title: `${state}, its transition found by ${judge}`,
    madeBy: {
      streams: oneStream(treeId),
      types: ['RevisionComposed', 'RevisionVerified', 'RevisionRejected'],
      field: 'revisionId',
      named: id,
    },
    from: [
      { relation: 'tree', query: sql`select tree_id as id, goal as text from trees where tree_id = ${treeId}` },
      {
        relation: 'ends of its trajectories',
        query: sql`select * from (values (${good}::uuid, 'good'), (${bad}::uuid, 'bad')) v(id, text)`,
      },
    ],
    usedBy: [
      {
        relation: 'lines of releases',
        query: sql`
          select e.dataset_id as id, d.name || '@' || d.version || ' line ' || e.line as text
          from dataset_examples e left join datasets d on d.dataset_id = e.dataset_id where e.revision_id = ${id} and e.tree_id = ${treeId} order by d.name, d.version, e.line`,
      },
    ],
    seed: null,
  };
};
