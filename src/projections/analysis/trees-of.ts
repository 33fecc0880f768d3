import { type RawBuilder, sql } from 'kysely';

/** What the trees are chosen by that something lies in. */
export interface OfTrees {
  readonly runId?: string;
  readonly treeId?: string;
  readonly taskId?: string;
  readonly environment?: string;
  readonly split?: string;
  readonly taskDepth?: number;
  readonly taskKind?: string;
}

/** Returns the condition that a column names one of these trees; null where all trees are meant. */
export function treesOf(column: string, filter: OfTrees): RawBuilder<boolean> | null {
  const tree = sql.ref(column);
  const of: RawBuilder<unknown>[] = [];
  if (filter.runId !== undefined) of.push(sql`t.run_id = ${filter.runId}`);
  if (filter.taskId !== undefined) of.push(sql`t.task_id = ${filter.taskId}`);
  if (filter.environment !== undefined) of.push(sql`t.environment = ${filter.environment}`);
  if (filter.split !== undefined) of.push(sql`t.split = ${filter.split}`);
  if (filter.taskDepth !== undefined) of.push(sql`t.task_depth = ${filter.taskDepth}`);
  if (filter.taskKind !== undefined) of.push(sql`t.kind = ${filter.taskKind}`);
  const named = filter.treeId === undefined ? null : sql<boolean>`${tree} = ${filter.treeId}`;
  if (of.length === 0) return named;
  const among = sql<boolean>`${tree} in (select t.tree_id from trees t where ${sql.join(of, sql` and `)})`;
  return named === null ? among : sql<boolean>`(${named} and ${among})`;
}
