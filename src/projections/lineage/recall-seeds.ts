import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { onlyOne } from '../ambiguous-id.ts';
import { type OfTree, pairsOf } from '../of-tree.ts';
import type { RecallSeed } from './touched.ts';

/** What is recalled. `treeId`: its tree, where several have one under its id. */
export type RecallRequest =
  | { readonly kind: 'scorer'; readonly name: string; readonly revision: string | null }
  | { readonly kind: 'trajectory'; readonly rolloutId: string; readonly treeId?: string }
  | { readonly kind: 'step'; readonly stepId: string; readonly treeId?: string }
  | { readonly kind: 'task'; readonly taskId: string }
  | { readonly kind: 'run'; readonly runId: string }
  | { readonly kind: 'label'; readonly label: string };

type RolloutSeed = Extract<RecallSeed, { kind: 'rollouts' }>;

/** There is nothing to recall: the record does not know what was named. */
export class RecallRefused extends Error {
  override readonly name = 'RecallRefused';
}

/**
 * Finds the rollouts where a recall begins. A scorer touches the rollouts that a judgement of it, in force or not, was about: by
 * their own reward or one of a step on their path. A trajectory touches itself and the rollouts that go on from its steps, in its
 * tree or in a fork; a step touches those that hold it on their path, and forks from there. A label touches what annotations name
 * that have it and are not retracted. @throws RecallRefused when the record
 * knows none; AmbiguousId.
 */
export async function seedOf(db: Db, request: RecallRequest): Promise<RecallSeed> {
  switch (request.kind) {
    case 'scorer':
      await refuseUnknownScorer(db, request.name, request.revision);
      return { kind: 'rollouts', rollouts: rolloutsScoredBy(request.name, request.revision), steps: null, judged: request };
    case 'trajectory':
      return seedOverRollout(
        await treeOf(db, { kind: 'rollout', id: request.rolloutId, treeId: request.treeId ?? null }),
        request.rolloutId,
      );
    case 'step':
      return seedThroughStep(
        await treeOf(db, { kind: 'step', id: request.stepId, treeId: request.treeId ?? null }),
        request.stepId,
      );
    case 'task':
      if (!(await exists(db, sql`select from trees where task_id = ${request.taskId}`)))
        throw new RecallRefused(`no tree was grown for task ${request.taskId}`);
      return seedOfTrees(sql`t.task_id = ${request.taskId}`);
    case 'run':
      if (!(await exists(db, sql`select from runs where run_id = ${request.runId}`)))
        throw new RecallRefused(`there is no run ${request.runId}; \`espalier status\` lists the runs`);
      return seedOfTrees(sql`t.run_id = ${request.runId}`);
    case 'label':
      if (!(await exists(db, sql`select from (${labelled(request.label)}) a`)))
        throw new RecallRefused(
          `no annotation has the label ${JSON.stringify(request.label)}; \`espalier annotations\` lists them`,
        );
      return seedOfLabel(request.label);
    default:
      return request satisfies never;
  }
}

/** Returns the tree that has a step or a rollout. @throws RecallRefused; AmbiguousId where several have it. */
async function treeOf(
  db: Db,
  named: { readonly kind: 'step' | 'rollout'; readonly id: string; readonly treeId: string | null },
): Promise<string> {
  const { kind, id } = named;
  const from = kind === 'step' ? sql`steps where step_id = ${id}` : sql`rollouts where rollout_id = ${id}`;
  const { rows } = await sql<{ treeId: string }>`select tree_id from ${from}`.execute(db);
  const found = onlyOne(named, rows);
  if (!found) throw new RecallRefused(`there is no ${kind} ${id}`);
  return found.treeId;
}

function labelled(label: string): RawBuilder<unknown> {
  return sql`select * from annotations where label = ${label} and retracted_at is null`;
}

/** Begins with what a label was given to; of revisions and rows with the trajectories that they were made of. */
function seedOfLabel(label: string): RecallSeed {
  const said = labelled(label);
  const steps = sql`
    select step_id, tree_id from (${said}) a where step_id is not null
    union select s.step_id, s.tree_id from (${said}) a join steps s on s.tree_id = a.tree_id where a.kind = 'tree'`;
  const rollouts = sql`
    select rollout_id, tree_id from (${said}) a where rollout_id is not null
    union select o.rollout_id, o.tree_id from (${said}) a join rollouts o on o.tree_id = a.tree_id where a.kind = 'tree'
    union select o.rollout_id, o.tree_id from (${said}) a join revisions v on v.revision_id = a.revision_id and v.tree_id = a.tree_id
      join rollouts o on o.tree_id = v.tree_id and o.leaf_step_id in (v.good_leaf_step_id, v.bad_leaf_step_id)
    union select o.rollout_id, o.tree_id from (${said}) a join dataset_examples e on (e.dataset_id, e.line) = (a.dataset_id, a.line)
      join rollouts o on o.rollout_id in (e.good_rollout_id, e.bad_rollout_id) and o.tree_id = e.tree_id`;
  return { kind: 'rollouts', rollouts: sql`(${rollouts}) union (${rolloutsThrough(steps)})`, steps };
}

/** Begins with rollouts, which no fork is taken to repeat. */
export function seedOfRollouts(rollouts: readonly OfTree[]): RecallSeed {
  return { kind: 'rollouts', rollouts: sql`select w.id, w.tree_id from ${pairsOf(rollouts)} w`, steps: null };
}

/** Begins with all that was done in some trees, chosen by a condition on `trees t`. */
export function seedOfTrees(which: RawBuilder<unknown>): RecallSeed {
  return {
    kind: 'rollouts',
    rollouts: sql`select o.rollout_id, o.tree_id from rollouts o join trees t on t.tree_id = o.tree_id where ${which}`,
    steps: sql`select s.step_id, s.tree_id from steps s join trees t on t.tree_id = s.tree_id where ${which}`,
  };
}

/** Begins with some steps: the rollouts that hold one on their path. `steps` returns `step_id` and `tree_id`. */
export function seedThroughSteps(steps: RawBuilder<unknown>): RolloutSeed {
  return { kind: 'rollouts', rollouts: rolloutsThrough(steps), steps };
}

/** Begins with one step. */
export function seedThroughStep(treeId: string, stepId: string): RolloutSeed {
  return { ...seedThroughSteps(oneStep(treeId, stepId)), few: true };
}

/** Returns a step as a query of `step_id` and `tree_id`. */
export function oneStep(treeId: string, stepId: string): RawBuilder<unknown> {
  return sql`select ${stepId}::uuid as step_id, ${treeId}::uuid as tree_id`;
}

/**
 * Begins with a rollout and those that go on from its steps. Steps that no rollout took (the inner ones of a search, a fork's
 * way) belong to every trajectory through them: forks of those on its path are its forks too.
 */
export function seedOverRollout(treeId: string, rolloutId: string): RolloutSeed {
  const taken = sql`select step_id, tree_id from steps where rollout_id = ${rolloutId} and tree_id = ${treeId}`;
  const path = sql`
    with recursive above as (
      select s.step_id, s.tree_id, s.parent_step_id, s.rollout_id from steps s
      where s.tree_id = ${treeId} and s.step_id = (
        select coalesce(leaf_step_id, from_step_id) from rollouts where rollout_id = ${rolloutId} and tree_id = ${treeId})
      union all
      select s.step_id, s.tree_id, s.parent_step_id, s.rollout_id from above a
      join steps s on s.step_id = a.parent_step_id and s.tree_id = a.tree_id
    )
    select step_id, tree_id from above where rollout_id is null and parent_step_id is not null`;
  return {
    kind: 'rollouts',
    few: true,
    rollouts: sql`select ${rolloutId}::uuid, ${treeId}::uuid union (${rolloutsThrough(taken)})`,
    steps: sql`(${taken}) union (${path})`,
  };
}

/**
 * Returns the rollouts that hold a step on their path: a query of `rollout_id` and `tree_id`. `steps` returns `step_id` and
 * `tree_id`.
 */
export function rolloutsThrough(steps: RawBuilder<unknown>): RawBuilder<unknown> {
  // `offset 0` keeps every step of the walk an index look-up, as in the sums of returns.
  return sql`
    with recursive below as (
      select step_id, tree_id from (${steps}) s
      union
      select e.step_id, b.tree_id from below b cross join lateral (
        select step_id from reward_edges where parent_step_id = b.step_id and tree_id = b.tree_id offset 0) e
    )
    select t.rollout_id, b.tree_id from below b cross join lateral (
      select rollout_id from returns where leaf_step_id = b.step_id and tree_id = b.tree_id offset 0) t
    union
    select s.rollout_id, b.tree_id from below b cross join lateral (
      select rollout_id from steps where step_id = b.step_id and tree_id = b.tree_id offset 0) s
    where s.rollout_id is not null`;
}

function rolloutsScoredBy(name: string, revision: string | null): RawBuilder<unknown> {
  const judged = sql`
    select step_id, rollout_id, tree_id from (${JUDGEMENTS}) j
    where scorer = ${name} and (${revision}::text is null or revision = ${revision})`;
  const steps = sql`select step_id, tree_id from (${judged}) j where step_id is not null`;
  return sql`select rollout_id, tree_id from (${judged}) j where step_id is null and rollout_id is not null union (${rolloutsThrough(steps)})`;
}

async function refuseUnknownScorer(db: Db, name: string, revision: string | null): Promise<void> {
  const { rows } = await sql<{ scorer: string; revision: string }>`
    select distinct scorer, revision from (${JUDGEMENTS}) j order by 1, 2`.execute(db);
  if (rows.some((row) => row.scorer === name && (revision === null || row.revision === revision))) return;
  const there = rows.map((row) => `${row.scorer}@${row.revision}`).slice(0, 20);
  throw new RecallRefused(
    `no reward was given by ${name}${revision === null ? '' : `@${revision}`}; those on record are by ${there.join(', ') || 'nobody'}`,
  );
}

async function exists(db: Db, query: RawBuilder<unknown>): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`select exists (${query}) as found`.execute(db);
  return rows[0]?.found === true;
}

/**
 * Every judgement of every reward, in force or not: a query of `reward_id, step_id, rollout_id, tree_id, ordinal, value, scorer,
 * revision`; ordinal 0 is the first. The read model keeps the scorer in force with a reward, so that of a first judgement which
 * was revised is read from the journal.
 */
export const JUDGEMENTS = sql`
  select reward_id, step_id, rollout_id, tree_id, 0 as ordinal, assigned_value as value, scorer, scorer_revision as revision
  from rewards where revisions = 0
  union all
  select w.reward_id, w.step_id, w.rollout_id, w.tree_id, 0, w.assigned_value, e.data -> 'scorer' ->> 'name', e.data -> 'scorer' ->> 'revision'
  from rewards w cross join lateral (
    select body::jsonb -> 'data' as data from events
    where stream = w.tree_id and type = 'RewardAssigned' and position(w.reward_id::text in body) > 0 offset 0
  ) e
  where w.revisions > 0 and e.data ->> 'rewardId' = w.reward_id::text
  union all
  select w.reward_id, w.step_id, w.rollout_id, w.tree_id, v.ordinal, v.value, v.scorer, v.scorer_revision
  from rewards w join reward_revisions v on v.reward_id = w.reward_id and v.tree_id = w.tree_id`;
