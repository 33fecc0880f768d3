import { type RawBuilder, sql } from 'kysely';
import { isUuid } from '../../domain/ids.ts';
import type { Db, Trx } from '../../postgres/database.ts';
import type { TrajectoryQuery } from './trajectory-query.ts';

/** One chosen rollout: its place, and its return as the rewards projection sums it. */
export interface Selected {
  readonly rolloutId: string;
  readonly treeId: string;
  readonly runId: string;
  /** Null where nobody rewarded it. */
  readonly returnValue: number | null;
}

/** The chosen rollouts of one tree, by their ordinal. */
export interface SelectedTree {
  readonly treeId: string;
  readonly runId: string;
  readonly rollouts: readonly Selected[];
}

/** What the trees of a query hold of prompts. */
export interface PromptContents {
  /** A prompt is recorded, or a run words its prompts itself. */
  readonly prompts: boolean;
  /** A recorded prompt shows a picture, or an observation holds one. */
  readonly pictures: boolean;
  /** A reply or a recorded prompt is more than texts and pictures. */
  readonly structured: boolean;
}

/** Reads what the trees of a query hold of prompts. */
export async function readPromptContents(trx: Db, query: TrajectoryQuery): Promise<PromptContents> {
  const { rows } = await sql<PromptContents>`
    select exists (select 1 ${fromWhere(query)} and (exists (select 1 from prompts p where p.tree_id = r.tree_id)
        or exists (select 1 from runs u where u.run_id = r.run_id and coalesce(u.config -> 'prompt', 'null') <> 'null'))) as prompts,
      exists (select 1 ${fromWhere(query)} and exists
        (select 1 from prompts p where p.tree_id = r.tree_id and p.with_images
         union all select 1 from pictures o where o.tree_id = r.tree_id)) as pictures,
      exists (select 1 ${fromWhere(query)} and exists
        (select 1 from steps s where s.tree_id = r.tree_id and s.reply is not null
         union all select 1 from prompts p where p.tree_id = r.tree_id and p.structured)) as structured`.execute(trx);
  return rows[0] ?? { prompts: false, pictures: false, structured: false };
}

/** Reads the arguments of tools that tasks of a query have, as JSON, each once. */
export async function readToolsKwargs(trx: Db, query: TrajectoryQuery): Promise<readonly string[]> {
  const { rows } = await sql<{ toolsKwargs: string }>`
    select distinct t.tools_kwargs ${fromWhere(query)} and t.tools_kwargs is not null`.execute(trx);
  return rows.map(({ toolsKwargs }) => toolsKwargs);
}

/** No captured call may belong to the path besides those on it, and all that its calls say could be read. */
const IS_WHOLE = sql<boolean>`(coalesce(r.unclear_calls, 0) = 0 and coalesce(r.lost_parts, 0) = 0)`;

const FETCH = 1_000; // rows per round trip: a row is about 150 bytes, so the cursor costs little memory and few trips

/** Counts the trajectories of a query whose captured calls are not known whole, and names the first. */
export async function countUnclear(
  trx: Db,
  query: TrajectoryQuery,
): Promise<{ readonly count: number; readonly first: string | null }> {
  const { rows } = await sql<{ count: number; first: string | null }>`
    select count(*) as count, min(r.rollout_id::text) as first ${fromWhere(query)} and not ${IS_WHOLE}`.execute(trx);
  return rows[0] ?? { count: 0, first: null };
}

/** Counts the trajectories of a query in whose tree something is forgotten. */
export async function countForgotten(trx: Db, query: TrajectoryQuery): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count ${fromWhere(query)}
      and exists (select 1 from public.stream_keys k where k.stream = r.tree_id and k.secret is null)`.execute(trx);
  return rows[0]?.count ?? 0;
}

/**
 * Streams the chosen rollouts tree by tree through a server-side cursor: Postgres sorts once and this process holds one tree's
 * worth. The order is by content that does not depend on when events arrived: run, task alias (code units), tree, ordinal,
 * rollout.
 *
 * The inner join with `returns` is the cut: a rollout counts as finished once both projections have folded its end, so no
 * trajectory is written before its rewards.
 */
export async function* selectTrees(trx: Trx, query: TrajectoryQuery): AsyncGenerator<SelectedTree> {
  await sql`
    declare selected_trajectories no scroll cursor for
    ${chosen(query)}
    order by r.run_id, t.alias collate "C", r.tree_id, r.ordinal, r.rollout_id`.execute(trx);
  let open: Selected[] = [];
  for (;;) {
    const { rows } = await sql<Selected>`fetch forward ${sql.raw(String(FETCH))} from selected_trajectories`.execute(trx);
    for (const row of rows) {
      const [first] = open;
      if (first && first.treeId !== row.treeId) {
        yield { treeId: first.treeId, runId: first.runId, rollouts: open };
        open = [];
      }
      open.push(row);
    }
    if (rows.length < FETCH) break;
  }
  const [first] = open;
  if (first) yield { treeId: first.treeId, runId: first.runId, rollouts: open };
  await sql`close selected_trajectories`.execute(trx);
}

/** Reads the chosen rollouts of one tree, by their ordinal. */
export async function readSelectedOfTree(db: Db, query: TrajectoryQuery, treeId: string): Promise<readonly Selected[]> {
  const { rows } = await sql<Selected>`${chosen(query)} and r.tree_id = ${treeId} order by r.ordinal, r.rollout_id`.execute(db);
  return rows;
}

function chosen(query: TrajectoryQuery): RawBuilder<unknown> {
  return sql`select r.rollout_id, r.tree_id, r.run_id, v.value as return_value ${fromWhere(query)}`;
}

/** Joins the chosen rollouts `r` with their trees `t` and returns `v`. */
export function fromWhere(query: TrajectoryQuery): RawBuilder<unknown> {
  return sql`
    from rollouts r
    join trees t on t.tree_id = r.tree_id
    join returns v on v.rollout_id = r.rollout_id and v.tree_id = r.tree_id
    where ${sql.join([sql`r.finished_at is not null`, ...conditions(query)], sql` and `)}`;
}

function conditions(query: TrajectoryQuery): RawBuilder<unknown>[] {
  const { tasks, splits, returnMin, returnMax } = query;
  const all = ofRollouts(query);
  if (tasks) all.push(sql`(t.task_id = any(${tasks.filter(isUuid)}::uuid[]) or t.alias = any(${[...tasks]}::text[]))`);
  if (splits) all.push(sql`t.split = any(${[...splits]}::text[])`);
  if (returnMin !== null) all.push(sql`v.value >= ${returnMin}`);
  if (returnMax !== null) all.push(sql`v.value <= ${returnMax}`);
  return all;
}

/** The conditions of a query that its rollouts `r` alone decide. */
export function ofRollouts({
  runs,
  environments,
  outcomes,
  success,
  policies,
  ...query
}: TrajectoryQuery): RawBuilder<unknown>[] {
  const all: RawBuilder<unknown>[] = [];
  if (runs) all.push(sql`r.run_id = any(${[...runs]}::uuid[])`);
  if (environments) all.push(sql`r.environment = any(${[...environments]}::text[])`);
  if (outcomes) all.push(sql`r.outcome = any(${[...outcomes]}::text[])`);
  if (success !== null) all.push(sql`r.success = ${success}`);
  if (policies) {
    const alternatives = policies.map(({ policyId, version }) =>
      version === null ? sql`r.policy_id = ${policyId}` : sql`(r.policy_id = ${policyId} and r.policy_version = ${version})`,
    );
    all.push(sql`(${sql.join(alternatives, sql` or `)})`);
  }
  if (query.labels) all.push(labelled(query.labels));
  if (query.withoutLabels) all.push(sql`not ${labelled(query.withoutLabels)}`);
  if (query.unclear === 'drop') all.push(IS_WHOLE);
  if (query.finishedFrom) all.push(sql`r.finished_at >= ${query.finishedFrom}::timestamptz`);
  if (query.finishedBefore) all.push(sql`r.finished_at < ${query.finishedBefore}::timestamptz`);
  return all;
}

/** A rollout `r` that is annotated with one of some labels, or a step that it took. */
function labelled(labels: readonly string[]): RawBuilder<unknown> {
  return sql`exists (select from annotations n where n.tree_id = r.tree_id and n.retracted_at is null
    and n.label = any(${[...labels]}::text[]) and (n.rollout_id = r.rollout_id
      or exists (select from steps o where o.step_id = n.step_id and o.tree_id = n.tree_id and o.rollout_id = r.rollout_id)))`;
}
