import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { exactMean } from '../../postgres/exact-sum.ts';
import { countEach, type Page, type PageRequest, readPage } from '../../postgres/keyset.ts';
import type { Ordering } from '../../postgres/keyset-cursor.ts';
import type { TreeRecord } from '../step-tree/read-trees.ts';
import { successRate } from '../step-tree/success-rate.ts';
import { goalsMatching } from './text-query.ts';

export type TaskRecord = TreeRecord['task'];

/** What tasks are chosen by; a part that is left out chooses all. */
export interface TaskFilter {
  /** Words of the goal. */
  readonly text?: string;
  readonly runId?: string;
  readonly environment?: string;
  readonly split?: string;
  readonly taskDepth?: number;
  readonly taskKind?: string;
}

const NAME = [
  { column: 'trees.environment', type: 'text' },
  { column: 'trees.alias', type: 'text' },
  { column: 'trees.taskId', type: 'uuid' },
] as const;
export const TASK_ORDERING = { name: 'tasks/NAME', direction: 'asc', keys: NAME } as const satisfies Ordering;

/** Reads one page of the tasks that trees were grown for, by environment and alias. @throws InvalidCursor. */
export async function readChosenTasks(db: Db, filter: TaskFilter, page: PageRequest): Promise<Page<TaskRecord>> {
  const columns = [
    'trees.taskId as id',
    'trees.environment',
    'trees.alias',
    'first.serverFingerprint',
    'first.observationHash',
    'first.goal',
    'first.taskDepth as depth',
    'first.split',
    'first.kind',
  ] as const;
  const first = db.selectFrom('trees').selectAll().as('first');
  const tasks = chosen(db, filter).innerJoin(first, 'first.treeId', 'trees.treeId').select(columns);
  return readPage(db, tasks, TASK_ORDERING, page);
}

/** Counts the tasks of a filter. */
export async function countChosenTasks(db: Db, filter: TaskFilter): Promise<number> {
  const [count = 0] = await countEach(db, [chosen(db, filter)]);
  return count;
}

/**
 * The first tree of each task represents it. An index that holds the names is read in its order, and a page ends it; the rest is
 * looked up for the tasks of the page.
 */
function chosen(db: Db, filter: TaskFilter) {
  let first = db
    .selectFrom('trees')
    .distinctOn(['trees.environment', 'trees.alias', 'trees.taskId'])
    .select(['trees.environment', 'trees.alias', 'trees.taskId', 'trees.treeId'])
    .orderBy('trees.environment')
    .orderBy('trees.alias')
    .orderBy('trees.taskId')
    .orderBy('trees.openedAt')
    .orderBy('trees.treeId');
  if (filter.runId !== undefined) first = first.where('trees.runId', '=', filter.runId);
  if (filter.environment !== undefined) first = first.where('trees.environment', '=', filter.environment);
  if (filter.split !== undefined) first = first.where('trees.split', '=', filter.split);
  if (filter.taskDepth !== undefined) first = first.where('trees.taskDepth', '=', filter.taskDepth);
  if (filter.taskKind !== undefined) first = first.where('trees.kind', '=', filter.taskKind);
  if (filter.text !== undefined) first = first.where(goalsMatching('trees', filter.text));
  return db.selectFrom(first.as('trees'));
}

/** What was done for a task. */
export interface TaskTotals {
  readonly taskId: string;
  readonly runs: number;
  readonly trees: number;
  readonly rollouts: number;
  readonly finished: number;
  readonly successes: number;
  readonly successRate: number | null;
  /** Those that have a return: what nobody rewarded has none. */
  readonly rewarded: number;
  readonly meanReturn: number | null;
}

/** Sums up the rollouts of tasks, in one statement; a task without trees is left out. */
export async function readTaskTotals(db: Db, tasks: readonly string[]): Promise<readonly TaskTotals[]> {
  const { rows } = await sql<TaskTotals>`
    select t.task_id, count(distinct t.run_id) as runs, count(distinct t.tree_id) as trees, count(o.rollout_id) as rollouts,
           count(o.finished_at) as finished, count(*) filter (where o.success) as successes,
           ${successRate('o')} as success_rate, count(v.value) as rewarded, ${exactMean(sql`v.value`)} as mean_return
    from trees t left join rollouts o using (tree_id) left join returns v using (rollout_id, tree_id)
    where t.task_id = any(${[...tasks]}::uuid[]) group by t.task_id`.execute(db);
  return rows;
}
