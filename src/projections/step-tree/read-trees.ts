import { type Selectable, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { exactVariance } from '../../postgres/exact-sum.ts';
import { listOf, type Page, type PageRequest, whereEqual } from '../../postgres/keyset.ts';
import type { Ordering } from '../../postgres/keyset-cursor.ts';
import { wholeRowsWhere } from '../../postgres/rows-where.ts';
import type { Tables } from '../../postgres/tables.ts';
import { keyInTree } from '../of-tree.ts';
import { readPictureIds } from '../pictures/read-pictures.ts';

type Row = Selectable<Tables['trees']>;
type Task =
  | 'taskId'
  | 'environment'
  | 'serverFingerprint'
  | 'observationHash'
  | 'alias'
  | 'goal'
  | 'taskDepth'
  | 'split'
  | 'kind';

export interface TreeRecord extends Omit<Row, 'treeId' | Task> {
  readonly id: string;
  readonly task: Pick<Row, Exclude<Task, 'taskId' | 'taskDepth'>> & { readonly id: string; readonly depth: number | null };
}
/** What trees are chosen by; a part that is left out chooses all. Times are [from, until). */
export interface TreeFilter {
  readonly runId?: string;
  readonly taskId?: string;
  readonly environment?: string;
  readonly split?: string;
  readonly taskDepth?: number;
  readonly taskKind?: string;
  readonly closed?: boolean;
  readonly openedFrom?: Date;
  readonly openedUntil?: Date;
  /** Examples of this dataset were made of it. */
  readonly datasetId?: string;
}

const OPENED = [
  { column: 'trees.openedAt', type: 'instant' },
  { column: 'trees.treeId', type: 'uuid' },
] as const;
const VARIED = [
  { column: 'varied.variance', type: 'float?' },
  { column: 'trees.treeId', type: 'uuid' },
] as const;
export const TREE_ORDERINGS = {
  OPENED_ASC: { name: 'trees/OPENED_ASC', direction: 'asc', keys: OPENED },
  OPENED_DESC: { name: 'trees/OPENED_DESC', direction: 'desc', keys: OPENED },
  /** For filters that name a run. */
  RETURN_VARIANCE_DESC: { name: 'trees/RETURN_VARIANCE_DESC', direction: 'desc', keys: VARIED, nulls: 'last' },
} as const satisfies Record<string, Ordering>;

const list = listOf((db, filter: TreeFilter) => chosen(db, filter).selectAll('trees'), toTree);
const variedList = listOf((db, filter: TreeFilter) => varied(db, filter).selectAll('trees'), toTree);

/** Reads one page of trees for each filter, in one statement. @throws InvalidCursor. */
export function readTrees(
  db: Db,
  filters: readonly TreeFilter[],
  ordering: Ordering,
  page: PageRequest,
): Promise<readonly Page<TreeRecord>[]> {
  return (ordering === TREE_ORDERINGS.RETURN_VARIANCE_DESC ? variedList : list).pages(db, filters, ordering, page);
}

/** Counts the trees of each filter, in one statement. */
export const countTrees = list.counts;

/** Reads trees by their ids, in one statement, in no order; ids that are unknown are left out. */
export async function readTreesById(db: Db, ids: readonly string[]): Promise<readonly TreeRecord[]> {
  const rows = await wholeRowsWhere(db, 'trees', { treeId: ids });
  return rows.map(toTree);
}

/** Reads a tree by its id; undefined for an unknown one. */
export async function readTree(db: Db, treeId: string): Promise<TreeRecord | undefined> {
  const [tree] = await readTreesById(db, [treeId]);
  return tree;
}

/** Exact: equal returns vary by 0, and a cursor holds every bit of a variance. */
const VARIANCE = exactVariance(sql`v.value`);

/** The trees of a run with how much the returns of their finished rollouts vary; null where nobody rewarded any. */
function varied(db: Db, filter: TreeFilter) {
  const variances = sql<{ treeId: string; variance: number | null }>`(select v.tree_id, ${VARIANCE} as variance from returns v
    where v.run_id = ${filter.runId ?? null}::uuid group by v.tree_id)`.as('varied');
  return chosen(db, filter).innerJoin(variances, 'varied.treeId', 'trees.treeId');
}

/** Reads how much the returns of the finished rollouts of trees vary: tree → population variance, null where nobody rewarded any. */
export async function readReturnVariances(db: Db, trees: readonly string[]): Promise<ReadonlyMap<string, number | null>> {
  const { rows } = await sql<{ treeId: string; variance: number | null }>`
    select v.tree_id, ${VARIANCE} as variance from returns v where v.tree_id = any(${[...trees]}::uuid[]) group by v.tree_id`.execute(
    db,
  );
  return new Map(rows.map(({ treeId, variance }) => [treeId, variance]));
}

function chosen(db: Db, filter: TreeFilter) {
  let query = whereEqual(db.selectFrom('trees'), 'trees', filter, ['runId', 'taskId', 'environment', 'split', 'taskDepth']);
  if (filter.taskKind !== undefined) query = query.where('trees.kind', '=', filter.taskKind);
  if (filter.closed !== undefined) query = query.where('trees.closedAt', filter.closed ? 'is not' : 'is', null);
  if (filter.openedFrom !== undefined) query = query.where('trees.openedAt', '>=', filter.openedFrom);
  if (filter.openedUntil !== undefined) query = query.where('trees.openedAt', '<', filter.openedUntil);
  if (filter.datasetId !== undefined) {
    const examples = db.selectFrom('datasetExamples').where('datasetId', '=', filter.datasetId);
    query = query.where('trees.treeId', 'in', examples.select('datasetExamples.treeId'));
  }
  return query;
}

function toTree(row: Row): TreeRecord {
  const { treeId, taskId, environment, serverFingerprint, observationHash, alias, goal, taskDepth, split, kind, ...tree } = row;
  const task = { id: taskId, environment, serverFingerprint, observationHash, alias, goal, depth: taskDepth, split, kind };
  return { id: treeId, task, ...tree };
}

/**
 * Reads the tasks that any tree of the record has in a test split, and those of other servers or runs that show the same first
 * observation: a task is what the agent sees, and integers are not stable between servers (specification of Agent-R, §6 items 19,
 * 20).
 */
export async function readTestTasks(db: Db): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ taskId: string }>`
    select distinct t.task_id from trees t
    where (t.environment, t.observation_hash) in (select environment, observation_hash from trees where split = 'test')`.execute(
    db,
  );
  return new Set(rows.map(({ taskId }) => taskId));
}

/**
 * Reads the tasks that a rollout of an evaluation or of a channel that is held out began, and those that show the same first
 * observation. The channel `baseline` is none of these: its greedy rollouts are of the tasks that are trained on.
 */
export async function readEvaluatedTasks(db: Db): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ taskId: string }>`
    select distinct t.task_id from trees t
    where (t.environment, t.observation_hash) in (
      select seen.environment, seen.observation_hash from trees seen join runs r on r.run_id = seen.run_id
      where r.kind = 'evaluate' or r.config #>> '{training,channel}' in ('validation', 'held-out'))`.execute(db);
  return new Set(rows.map(({ taskId }) => taskId));
}

/** A tree that was opened and not closed, and the first observation that it was opened with. */
export interface OpenTree {
  readonly treeId: string;
  readonly alias: string;
  readonly seed: number;
  readonly observation: string;
  /** Pictures of that observation, by their ids. */
  readonly pictures: readonly { readonly imageId: string }[];
}

/**
 * Reads the open trees of a run, in the order of their ids. @param resolve reads a text of the blob store.
 */
export async function readOpenTrees(
  db: Db,
  runId: string,
  resolve: (sha256: string) => Promise<string>,
): Promise<readonly OpenTree[]> {
  const rows = await db
    .selectFrom('trees as t')
    .innerJoin('steps as s', (on) => on.onRef('s.stepId', '=', 't.rootStepId').onRef('s.treeId', '=', 't.treeId'))
    .select(['t.treeId', 't.rootStepId', 't.alias', 't.seed', 's.observation', 's.blobs'])
    .where('t.runId', '=', runId)
    .where('t.closedAt', 'is', null)
    .orderBy('t.treeId')
    .execute();
  const pictures = await readPictureIds(
    db,
    rows.map(({ treeId, rootStepId: id }) => ({ treeId, id })),
  );
  return Promise.all(
    rows.map(async ({ treeId, rootStepId, alias, seed, observation, blobs }) => {
      const blob = blobs?.observation;
      const text = blob ? await resolve(blob.blob) : observation;
      return { treeId, alias, seed, observation: text, pictures: pictures.get(keyInTree(treeId, rootStepId)) ?? [] };
    }),
  );
}

export interface RunSize {
  readonly trees: number;
  readonly rollouts: number;
}

/** Counts the trees and rollouts of runs, finished or not, in one statement. */
export async function readRunSizes(db: Db, runs: readonly string[]): Promise<ReadonlyMap<string, RunSize>> {
  const { rows } = await sql<RunSize & { runId: string }>`
    select c.run_id, (select count(*) from trees t where t.run_id = c.run_id) as trees,
           (select count(*) from rollouts r where r.run_id = c.run_id) as rollouts
    from unnest(${[...runs]}::uuid[]) as c(run_id)`.execute(db);
  return new Map(rows.map(({ runId, trees, rollouts }) => [runId, { trees, rollouts }]));
}
