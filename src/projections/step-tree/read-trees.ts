import type { Selectable } from 'kysely';
import type { Blobs } from '../../postgres/column-types.ts';
import type { Db } from '../../postgres/database.ts';
import { countEach, mapPages, type Page, type PageRequest, readPages } from '../../postgres/keyset.ts';
import type { Ordering } from '../../postgres/keyset-cursor.ts';
import type { Tables } from '../../postgres/tables.ts';

export interface TreeRecord {
  readonly id: string;
  readonly runId: string;
  readonly task: {
    readonly id: string;
    readonly environment: string;
    readonly serverFingerprint: string;
    readonly observationHash: string;
    readonly alias: string;
    readonly goal: string;
    readonly depth: number | null;
    readonly split: string | null;
  };
  readonly rootStepId: string;
  readonly instruction: string;
  readonly plannedRollouts: number;
  readonly seed: number;
  readonly openedAt: Date;
  readonly closedAt: Date | null;
  readonly closeReason: string | null;
  readonly blobs: Blobs | null;
}
/** What trees are chosen by; a part that is left out chooses all. Times are [from, until). */
export interface TreeFilter {
  readonly runId?: string;
  readonly taskId?: string;
  readonly environment?: string;
  readonly split?: string;
  readonly taskDepth?: number;
  readonly closed?: boolean;
  readonly openedFrom?: Date;
  readonly openedUntil?: Date;
  /** Examples of this dataset were made of it. */
  readonly datasetId?: string;
}

const OPENED = [
  { column: 'trees.opened_at', type: 'instant' },
  { column: 'trees.tree_id', type: 'uuid' },
] as const;
export const TREE_ORDERINGS = {
  OPENED_ASC: { name: 'trees/OPENED_ASC', direction: 'asc', keys: OPENED },
  OPENED_DESC: { name: 'trees/OPENED_DESC', direction: 'desc', keys: OPENED },
} as const satisfies Record<string, Ordering>;

/** Reads one page of trees for each filter, in one statement. @throws InvalidCursor. */
export async function readTrees(
  db: Db,
  filters: readonly TreeFilter[],
  ordering: Ordering,
  page: PageRequest,
): Promise<readonly Page<TreeRecord>[]> {
  const queries = filters.map((filter) => chosen(db, filter).selectAll('trees'));
  return mapPages(await readPages(db, queries, ordering, page), toTree);
}

/** Counts the trees of each filter, in one statement. */
export async function countTrees(db: Db, filters: readonly TreeFilter[]): Promise<readonly number[]> {
  return countEach(
    db,
    filters.map((filter) => chosen(db, filter)),
  );
}

/** Reads trees by their ids, in one statement, in no order; ids that are unknown are left out. */
export async function readTreesById(db: Db, ids: readonly string[]): Promise<readonly TreeRecord[]> {
  const rows = await db
    .selectFrom('trees')
    .selectAll()
    .where('tree_id', 'in', [...ids])
    .execute();
  return rows.map(toTree);
}

/** Reads a tree by its id; undefined for an unknown one. */
export async function readTree(db: Db, treeId: string): Promise<TreeRecord | undefined> {
  const [tree] = await readTreesById(db, [treeId]);
  return tree;
}

function chosen(db: Db, filter: TreeFilter) {
  let query = db.selectFrom('trees');
  if (filter.runId !== undefined) query = query.where('trees.run_id', '=', filter.runId);
  if (filter.taskId !== undefined) query = query.where('trees.task_id', '=', filter.taskId);
  if (filter.environment !== undefined) query = query.where('trees.environment', '=', filter.environment);
  if (filter.split !== undefined) query = query.where('trees.split', '=', filter.split);
  if (filter.taskDepth !== undefined) query = query.where('trees.task_depth', '=', filter.taskDepth);
  if (filter.closed !== undefined) query = query.where('trees.closed_at', filter.closed ? 'is not' : 'is', null);
  if (filter.openedFrom !== undefined) query = query.where('trees.opened_at', '>=', filter.openedFrom);
  if (filter.openedUntil !== undefined) query = query.where('trees.opened_at', '<', filter.openedUntil);
  if (filter.datasetId !== undefined) {
    const examples = db.selectFrom('dataset_examples').where('dataset_id', '=', filter.datasetId);
    query = query.where('trees.tree_id', 'in', examples.select('dataset_examples.tree_id'));
  }
  return query;
}

function toTree(row: Selectable<Tables['trees']>): TreeRecord {
  return {
    id: row.tree_id,
    runId: row.run_id,
    task: {
      id: row.task_id,
      environment: row.environment,
      serverFingerprint: row.server_fingerprint,
      observationHash: row.observation_hash,
      alias: row.alias,
      goal: row.goal,
      depth: row.task_depth,
      split: row.split,
    },
    rootStepId: row.root_step_id,
    instruction: row.instruction,
    plannedRollouts: row.planned_rollouts,
    seed: row.seed,
    openedAt: row.opened_at,
    closedAt: row.closed_at,
    closeReason: row.close_reason,
    blobs: row.blobs,
  };
}
