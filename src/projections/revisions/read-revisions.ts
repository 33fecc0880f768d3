import { type Selectable, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { countEach, mapPages, type Page, type PageRequest, readPages } from '../../postgres/keyset.ts';
import type { Ordering } from '../../postgres/keyset-cursor.ts';
import { wholeRowsWhere } from '../../postgres/rows-where.ts';
import type { Tables } from '../../postgres/tables.ts';
import { type OfTree, pairsOf } from '../of-tree.ts';

export interface RevisionRecord {
  readonly id: string;
  readonly treeId: string;
  readonly runId: string;
  readonly goodLeafStepId: string;
  readonly badLeafStepId: string;
  readonly branchStepId: string;
  readonly transitionStepId: string;
  readonly cause: Tables['revisions']['transitionCause'];
  /** The revision length: steps that the judge looked at. */
  readonly judged: number;
  readonly reflection: string;
  readonly signal: Tables['revisions']['signal'];
  readonly alpha: number;
  readonly beta: number;
  /** name@revision. */
  readonly judge: string;
  readonly contentHash: string;
  readonly state: Tables['revisions']['state'];
  readonly reached: number | null;
  readonly threshold: number | null;
  readonly reason: string | null;
  readonly detail: string | null;
  readonly atStepId: string | null;
  readonly composedAt: Date;
  readonly checkedAt: Date | null;
}

/** What revisions are chosen by; a part that is left out chooses all. */
export interface RevisionFilter {
  readonly runId?: string;
  readonly treeId?: string;
  readonly state?: RevisionRecord['state'];
  readonly judge?: string;
  /** An example of this dataset was made of it. */
  readonly datasetId?: string;
}

/** The order in which they were composed. */
export const REVISION_ORDERING: Ordering = {
  name: 'revisions/COMPOSED_ASC',
  direction: 'asc',
  keys: [
    { column: 'revisions.composedAt', type: 'instant' },
    { column: 'revisions.revisionId', type: 'uuid' },
    { column: 'revisions.treeId', type: 'uuid' },
  ],
};

/** Reads one page of revisions for each filter, in one statement. @throws InvalidCursor. */
export async function readRevisionPages(
  db: Db,
  filters: readonly RevisionFilter[],
  page: PageRequest,
): Promise<readonly Page<RevisionRecord>[]> {
  const queries = filters.map((filter) => chosen(db, filter).selectAll('revisions'));
  return mapPages(await readPages(db, queries, REVISION_ORDERING, page), toRevision);
}

/** Counts the revisions of each filter, in one statement. */
export async function countRevisions(db: Db, filters: readonly RevisionFilter[]): Promise<readonly number[]> {
  const queries = filters.map((filter) => chosen(db, filter));
  return countEach(db, queries);
}

/** Reads revisions, in one statement, in no order; those that are unknown are left out. */
export async function readRevisionsNamed(db: Db, revisions: readonly OfTree[]): Promise<readonly RevisionRecord[]> {
  const { rows } = await sql<Selectable<Tables['revisions']>>`
    select r.* from ${pairsOf(revisions)} w join revisions r on r.revision_id = w.id and r.tree_id = w.tree_id`.execute(db);
  return rows.map(toRevision);
}

/** Reads revisions by their ids alone, likewise; of an id that several trees have, all. */
export async function readRevisionsById(db: Db, ids: readonly string[]): Promise<readonly RevisionRecord[]> {
  const rows = await wholeRowsWhere(db, 'revisions', { revisionId: ids });
  return rows.map(toRevision);
}

/** Reads the revisions of trees, each tree's in the order of the log. */
export async function readRevisions(db: Db, trees: readonly string[]): Promise<readonly RevisionRecord[]> {
  if (trees.length === 0) return [];
  const rows = await wholeRowsWhere(db, 'revisions', { treeId: trees }, ['treeId', 'logOffset']);
  return rows.map(toRevision);
}

/** Reads the ids of the trees that have a revision which was not rejected, by id. */
export async function readRevisedTrees(db: Db): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('revisions')
    .select('treeId')
    .distinct()
    .where('state', '!=', 'rejected')
    .orderBy('treeId')
    .execute();
  return rows.map((row) => row.treeId);
}

function chosen(db: Db, filter: RevisionFilter) {
  let query = db.selectFrom('revisions');
  if (filter.runId !== undefined) query = query.where('revisions.runId', '=', filter.runId);
  if (filter.treeId !== undefined) query = query.where('revisions.treeId', '=', filter.treeId);
  if (filter.state !== undefined) query = query.where('revisions.state', '=', filter.state);
  if (filter.judge !== undefined) query = query.where('revisions.judge', '=', filter.judge);
  if (filter.datasetId !== undefined) {
    query = query.where(sql<boolean>`(revisions.revision_id, revisions.tree_id) in (
      select e.revision_id, e.tree_id from dataset_examples e where e.dataset_id = ${filter.datasetId})`);
  }
  return query;
}

function toRevision(row: Selectable<Tables['revisions']>): RevisionRecord {
  return {
    id: row.revisionId,
    treeId: row.treeId,
    runId: row.runId,
    goodLeafStepId: row.goodLeafStepId,
    badLeafStepId: row.badLeafStepId,
    branchStepId: row.branchStepId,
    transitionStepId: row.transitionStepId,
    cause: row.transitionCause,
    judged: row.judged,
    reflection: row.reflection,
    signal: row.signal,
    alpha: row.alpha,
    beta: row.beta,
    judge: row.judge,
    contentHash: row.contentHash,
    state: row.state,
    reached: row.reached,
    threshold: row.threshold,
    reason: row.reason,
    detail: row.detail,
    atStepId: row.atStepId,
    composedAt: row.composedAt,
    checkedAt: row.checkedAt,
  };
}
