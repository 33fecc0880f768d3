import { type Selectable, sql } from 'kysely';
import type { Thresholds } from '../../domain/revision/thresholds.ts';
import type { Db } from '../../postgres/database.ts';
import { listOf, whereEqual } from '../../postgres/keyset.ts';
import type { Ordering } from '../../postgres/keyset-cursor.ts';
import { wholeRowsWhere } from '../../postgres/rows-where.ts';
import type { Tables } from '../../postgres/tables.ts';
import { type OfTree, pairsOf } from '../of-tree.ts';

type Row = Selectable<Tables['revisions']>;

/** `judged` is the revision length: steps that the judge looked at; `judge` is name@revision. */
export interface RevisionRecord extends Omit<Row, 'revisionId' | 'transitionCause' | 'logOffset'> {
  readonly id: string;
  readonly cause: Row['transitionCause'];
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

/** The pages of revisions, and their counts. */
export const { pages: readRevisionPages, counts: countRevisions } = listOf(
  (db, filter: RevisionFilter) => chosen(db, filter).selectAll('revisions'),
  toRevision,
);

/** Reads revisions, in one statement, in no order; those that are unknown are left out. */
export async function readRevisionsNamed(db: Db, revisions: readonly OfTree[]): Promise<readonly RevisionRecord[]> {
  const { rows } = await sql<Row>`
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
  let query = whereEqual(db.selectFrom('revisions'), 'revisions', filter, ['runId', 'treeId', 'state', 'judge']);
  if (filter.datasetId !== undefined) {
    query = query.where(sql<boolean>`(revisions.revision_id, revisions.tree_id) in (
      select e.revision_id, e.tree_id from dataset_examples e where e.dataset_id = ${filter.datasetId})`);
  }
  return query;
}

function toRevision({ revisionId, transitionCause, logOffset: _, ...row }: Row): RevisionRecord {
  return { id: revisionId, cause: transitionCause, ...row };
}

/** Reads the thresholds that the last revision of a run was mined by; null where the run has none. */
export async function readLastThresholds(db: Db, runId: string): Promise<Thresholds | null> {
  const last = await db
    .selectFrom('revisions')
    .select(['alpha', 'beta'])
    .where('runId', '=', runId)
    .orderBy('composedAt', 'desc')
    .orderBy('revisionId', 'desc')
    .limit(1)
    .executeTakeFirst();
  return last ?? null;
}
