import { type Selectable, sql } from 'kysely';
import type { Blobs } from '../../postgres/column-types.ts';
import type { Db } from '../../postgres/database.ts';
import { countEach, mapPages, type Page, type PageRequest, readPages } from '../../postgres/keyset.ts';
import type { Ordering } from '../../postgres/keyset-cursor.ts';
import { wholeRowsWhere } from '../../postgres/rows-where.ts';
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
    readonly kind: string | null;
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
  { column: 'varied.variance', type: 'float' },
  { column: 'trees.treeId', type: 'uuid' },
] as const;
export const TREE_ORDERINGS = {
  OPENED_ASC: { name: 'trees/OPENED_ASC', direction: 'asc', keys: OPENED },
  OPENED_DESC: { name: 'trees/OPENED_DESC', direction: 'desc', keys: OPENED },
  /** For filters that name a run. */
  RETURN_VARIANCE_DESC: { name: 'trees/RETURN_VARIANCE_DESC', direction: 'desc', keys: VARIED },
} as const satisfies Record<string, Ordering>;

/** Reads one page of trees for each filter, in one statement. @throws InvalidCursor. */
export async function readTrees(
  db: Db,
  filters: readonly TreeFilter[],
  ordering: Ordering,
  page: PageRequest,
): Promise<readonly Page<TreeRecord>[]> {
  if (ordering === TREE_ORDERINGS.RETURN_VARIANCE_DESC)
    return mapPages(
      await readPages(
        db,
        filters.map((filter) => varied(db, filter).selectAll('trees')),
        ordering,
        page,
      ),
      toTree,
    );
  const queries = filters.map((filter) => chosen(db, filter).selectAll('trees'));
  return mapPages(await readPages(db, queries, ordering, page), toTree);
}

/** Counts the trees of each filter, in one statement. */
export async function countTrees(db: Db, filters: readonly TreeFilter[]): Promise<readonly number[]> {
  const queries = filters.map((filter) => chosen(db, filter));
  return countEach(db, queries);
}

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

/** In an order that the values do not depend on: a cursor holds every bit of a variance. */
const VARIANCE = sql<number>`var_pop(v.value order by v.rollout_id)`;

/** The trees of a run with how much the returns of their finished rollouts vary. */
function varied(db: Db, filter: TreeFilter) {
  const variances = sql<{ treeId: string; variance: number }>`(select v.tree_id, ${VARIANCE} as variance from returns v
    where v.run_id = ${filter.runId ?? null}::uuid group by v.tree_id)`.as('varied');
  return chosen(db, filter).innerJoin(variances, 'varied.treeId', 'trees.treeId');
}

/** Reads how much the returns of the finished rollouts of trees vary: tree → population variance. */
export async function readReturnVariances(db: Db, trees: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ treeId: string; variance: number }>`
    select v.tree_id, ${VARIANCE} as variance from returns v where v.tree_id = any(${[...trees]}::uuid[]) group by v.tree_id`.execute(
    db,
  );
  return new Map(rows.map(({ treeId, variance }) => [treeId, variance]));
}

function chosen(db: Db, filter: TreeFilter) {
  let query = db.selectFrom('trees');
  if (filter.runId !== undefined) query = query.where('trees.runId', '=', filter.runId);
  if (filter.taskId !== undefined) query = query.where('trees.taskId', '=', filter.taskId);
  if (filter.environment !== undefined) query = query.where('trees.environment', '=', filter.environment);
  if (filter.split !== undefined) query = query.where('trees.split', '=', filter.split);
  if (filter.taskDepth !== undefined) query = query.where('trees.taskDepth', '=', filter.taskDepth);
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

function toTree(row: Selectable<Tables['trees']>): TreeRecord {
  return {
    id: row.treeId,
    runId: row.runId,
    task: {
      id: row.taskId,
      environment: row.environment,
      serverFingerprint: row.serverFingerprint,
      observationHash: row.observationHash,
      alias: row.alias,
      goal: row.goal,
      depth: row.taskDepth,
      split: row.split,
      kind: row.kind,
    },
    rootStepId: row.rootStepId,
    instruction: row.instruction,
    plannedRollouts: row.plannedRollouts,
    seed: row.seed,
    openedAt: row.openedAt,
    closedAt: row.closedAt,
    closeReason: row.closeReason,
    blobs: row.blobs,
  };
}
