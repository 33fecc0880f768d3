import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import type { Ordering } from '../../postgres/keyset-cursor.ts';
import { type AnnotatedFilter, stepAnnotated } from '../annotations/annotated.ts';
import type { SampleState } from '../training-pool/read-samples.ts';
import { sampleInState } from './sample-state.ts';
import { stepsMatching, type TextArm, type TextQuery } from './text-query.ts';
import { shareOf, type TreeRange } from './tree-ranges.ts';
import { type OfTrees, treesOf } from './trees-of.ts';

/** What steps are chosen by; a part that is left out chooses all. Ranges are [from, until). */
export interface StepFilter extends OfTrees {
  readonly text?: TextQuery;
  readonly rolloutId?: string;
  /** The whole action, as it was taken. */
  readonly action?: string;
  /** A tool that was called in it. */
  readonly tool?: string;
  /** A reward on the step itself. */
  readonly reward?: { readonly component?: string; readonly from?: number; readonly until?: number };
  /** What a judge said of it. */
  readonly verdict?: string;
  /** The return of the rollout that took it. */
  readonly returnFrom?: number;
  readonly returnUntil?: number;
  /** What it is annotated with itself. */
  readonly annotated?: AnnotatedFilter;
  /** What became of its rollout as a training sample. */
  readonly sampleState?: SampleState;
  readonly sampleReason?: string;
  /** The policy that sampled tokens of it. */
  readonly policyId?: string;
  readonly policyVersion?: number;
  readonly depthFrom?: number;
  readonly depthUntil?: number;
  readonly termination?: string;
  readonly wellFormatted?: boolean;
  readonly executable?: boolean;
  /** A step that is on its path, or itself. */
  readonly under?: string;
  /** With `under`: at most so many steps below it. */
  readonly levels?: number;
}

const STEP = { column: 'steps.stepId', type: 'uuid' } as const;
const OF_TREE = { column: 'steps.treeId', type: 'uuid' } as const;
const TREE = [OF_TREE, { column: 'steps.logOffset', type: 'integer' }, STEP] as const;
const TAKEN = [{ column: 'steps.occurredAt', type: 'instant' }, STEP, OF_TREE] as const;
const VISITS = [{ column: 'searched.visits', type: 'integer' }, STEP, OF_TREE] as const;

/**
 * The orders of steps. That of trees is the one that every filter can be read in: the ids of trees are hashes, so that whatever
 * is chosen lies everywhere alike, and a page ends soon.
 */
export const STEP_ORDERINGS = {
  TREE: { name: 'steps/TREE', direction: 'asc', keys: TREE },
  TAKEN_ASC: { name: 'steps/TAKEN_ASC', direction: 'asc', keys: TAKEN },
  TAKEN_DESC: { name: 'steps/TAKEN_DESC', direction: 'desc', keys: TAKEN },
  VISITS: { name: 'steps/VISITS', direction: 'desc', keys: VISITS },
} as const satisfies Record<string, Ordering>;

/** Whether a filter names what few steps belong to, whatever their texts are. */
export function isSelective({ runId, treeId, taskId, rolloutId, under }: StepFilter): boolean {
  return [runId, treeId, taskId, rolloutId, under].some((id) => id !== undefined);
}

/**
 * Returns the steps of a filter as a query. @param arm those among them whose texts are searched; left out, texts choose nothing.
 */
export function stepsOf(db: Db, filter: StepFilter, arm?: TextArm, range: TreeRange | null = null) {
  // A search leaves a step that no back-up passed without statistics: it was visited 0 times.
  const searched = sql<{ visits: number }>`lateral (select coalesce(
    (select n.visits from node_statistics n where n.step_id = steps.step_id and n.tree_id = steps.tree_id), 0) as visits)`.as(
    'searched',
  );
  let query = sourceOf(db, filter, arm, range).innerJoin(searched, (join) => join.onTrue());
  for (const condition of stepConditions(filter)) query = query.where(sql<boolean>`${condition}`);
  if (filter.text && arm && arm !== 'holding') query = query.where(stepsMatching('steps', filter.text, arm));
  if (range !== null) query = query.where(sql<boolean>`steps.tree_id between ${range.from}::uuid and ${range.to}::uuid`);
  return query;
}

const SMALL = 1 / 8; // of all trees: a range whose steps an index names sooner than the steps that hold the words are read

/**
 * Those that hold the words are found by the index of texts before anything is sorted: with the order and the limit of a page in
 * sight, the planner, which has no statistics of that index, would look through steps in their order instead.
 */
function sourceOf(db: Db, { text }: StepFilter, arm: TextArm | undefined, range: TreeRange | null) {
  const all = () => db.selectFrom('steps');
  if (!text || arm !== 'holding') return all();
  const within =
    range !== null && shareOf(range) <= SMALL ? sql`and steps.tree_id between ${range.from}::uuid and ${range.to}::uuid` : sql``;
  const holding = sql`(select * from steps where ${stepsMatching('steps', text, arm)} ${within} offset 0)`;
  return db.selectFrom(holding.as('steps')) as unknown as ReturnType<typeof all>; // rows of the same table, under its name
}

/** Returns the conditions of a filter on a row of `steps`, but for its texts. */
export function stepConditions(filter: StepFilter): RawBuilder<unknown>[] {
  const all: RawBuilder<unknown>[] = [];
  const add = (condition: RawBuilder<unknown> | null) => condition && all.push(condition);
  add(treesOf('steps.treeId', filter));
  if (filter.under !== undefined) add(below(filter.under, filter.levels ?? null));
  if (filter.rolloutId !== undefined) add(takenBy(filter.rolloutId));
  // The index holds the beginning of an action: a whole one may be longer than a key of it.
  if (filter.action !== undefined)
    add(sql`left(steps.action, 200) = left(${filter.action}, 200) and steps.action = ${filter.action}`);
  if (filter.tool !== undefined)
    add(
      sql`exists (select from tool_calls c where c.step_id = steps.step_id and c.tree_id = steps.tree_id and c.tool = ${filter.tool})`,
    );
  if (filter.reward) add(rewarded(filter.reward));
  if (filter.verdict !== undefined)
    add(
      sql`exists (select from judgements j where j.step_id = steps.step_id and j.tree_id = steps.tree_id and j.verdict = ${filter.verdict})`,
    );
  if (filter.returnFrom !== undefined || filter.returnUntil !== undefined) add(returned(filter));
  if (filter.annotated !== undefined) add(stepAnnotated(filter.annotated));
  // looked up first, of each step: as a part of the join Postgres asks for the sample, its group and its run of every step
  if (filter.sampleReason !== undefined)
    add(
      sql`(select true from sample_rejections x where x.rollout_id = steps.rollout_id and x.tree_id = steps.tree_id and x.reason = ${filter.sampleReason} limit 1)`,
    );
  if (filter.sampleState !== undefined || filter.sampleReason !== undefined)
    add(sql`exists (select from samples s join groups g using (tree_id) join training_runs r using (run_id)
      where s.rollout_id = steps.rollout_id and s.tree_id = steps.tree_id and s.finished_at is not null and r.channel = 'train'
        and ${sampleInState({ samples: 's', runs: 'r' }, { state: filter.sampleState, reason: filter.sampleReason })})`);
  if (filter.policyId !== undefined || filter.policyVersion !== undefined) {
    const span = { policyId: filter.policyId, version: filter.policyVersion }; // what is left out is left out of the JSON
    add(sql`steps.policy_spans @> ${JSON.stringify([span])}::jsonb`);
  }
  if (filter.depthFrom !== undefined) add(sql`steps.depth >= ${filter.depthFrom}`);
  if (filter.depthUntil !== undefined) add(sql`steps.depth < ${filter.depthUntil}`);
  if (filter.termination !== undefined) add(sql`steps.termination = ${filter.termination}`);
  if (filter.wellFormatted !== undefined) add(sql`steps.well_formatted = ${filter.wellFormatted}`);
  if (filter.executable !== undefined) add(sql`steps.executable = ${filter.executable}`);
  return all;
}

/** A step and what is below it, at most so many levels; null for all. Each level is looked up in its own tree. */
function below(stepId: string, levels: number | null): RawBuilder<unknown> {
  return sql`(steps.step_id, steps.tree_id) in (
    with recursive below as (
      select s.step_id, s.tree_id, 0 as level from steps s where s.step_id = ${stepId}::uuid
      union all
      select c.step_id, c.tree_id, b.level + 1 from below b
      join steps c on c.tree_id = b.tree_id and c.parent_step_id = b.step_id
      where ${levels}::integer is null or b.level < ${levels}::integer
    ) select step_id, tree_id from below)`;
}

function takenBy(rolloutId: string): RawBuilder<unknown> {
  return sql`steps.rollout_id = ${rolloutId}::uuid
    and steps.tree_id in (select o.tree_id from rollouts o where o.rollout_id = ${rolloutId}::uuid)`;
}

function rewarded({ component, from, until }: NonNullable<StepFilter['reward']>): RawBuilder<unknown> {
  const of = [sql`w.step_id = steps.step_id`, sql`w.tree_id = steps.tree_id`];
  if (component !== undefined) of.push(sql`w.component = ${component}`);
  if (from !== undefined) of.push(sql`w.value >= ${from}`);
  if (until !== undefined) of.push(sql`w.value < ${until}`);
  return sql`exists (select from rewards w where ${sql.join(of, sql` and `)})`;
}

function returned({ returnFrom, returnUntil }: Pick<StepFilter, 'returnFrom' | 'returnUntil'>): RawBuilder<unknown> {
  const of = [sql`v.rollout_id = steps.rollout_id`, sql`v.tree_id = steps.tree_id`];
  if (returnFrom !== undefined) of.push(sql`v.value >= ${returnFrom}`);
  if (returnUntil !== undefined) of.push(sql`v.value < ${returnUntil}`);
  return sql`exists (select from returns v where ${sql.join(of, sql` and `)})`;
}
