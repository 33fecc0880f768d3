import { type Selectable, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { countEach, mapPages, type Page, type PageRequest, readPages } from '../../postgres/keyset.ts';
import type { Ordering } from '../../postgres/keyset-cursor.ts';
import type { Tables } from '../../postgres/tables.ts';
import { keyInTree } from '../of-tree.ts';

/** An example of a released dataset and the record that it was made of. `line` is its first line in the file, from 1. */
export interface ExampleRecord {
  readonly datasetId: string;
  readonly line: number;
  readonly lines: number;
  readonly kind: Tables['datasetExamples']['kind'];
  readonly treeId: string;
  readonly goodRolloutId: string;
  readonly badRolloutId: string | null;
  readonly revisionId: string | null;
}

/** What examples of one dataset are chosen by; a part that is left out chooses all. */
export interface ExampleFilter {
  readonly datasetId: string;
  readonly kind?: ExampleRecord['kind'];
  readonly treeId?: string;
  readonly revisionId?: string;
  readonly line?: number;
}

/** The order of the lines. */
export const EXAMPLE_ORDERING: Ordering = {
  name: 'examples/LINE_ASC',
  direction: 'asc',
  keys: [{ column: 'datasetExamples.line', type: 'integer' }],
};

/** Reads one page of examples for each filter, in one statement. @throws InvalidCursor. */
export async function readExamplePages(
  db: Db,
  filters: readonly ExampleFilter[],
  page: PageRequest,
): Promise<readonly Page<ExampleRecord>[]> {
  const queries = filters.map((filter) => chosen(db, filter).selectAll('datasetExamples'));
  return mapPages(await readPages(db, queries, EXAMPLE_ORDERING, page), toExample);
}

/** Counts the examples of each filter, in one statement. */
export async function countExamples(db: Db, filters: readonly ExampleFilter[]): Promise<readonly number[]> {
  const queries = filters.map((filter) => chosen(db, filter));
  return countEach(db, queries);
}

/** Reads the revisions that the examples of datasets were made of, by `keyInTree`. */
export async function readRevisionsOfDatasets(db: Db, datasets: readonly string[]): Promise<ReadonlySet<string>> {
  if (datasets.length === 0) return new Set();
  const rows = await db
    .selectFrom('datasetExamples')
    .select(['treeId', 'revisionId'])
    .where('datasetId', 'in', [...datasets])
    .where('revisionId', 'is not', null)
    .execute();
  return new Set(rows.flatMap(({ treeId, revisionId }) => (revisionId === null ? [] : [keyInTree(treeId, revisionId)])));
}

/** A policy version whose trajectories are in a dataset. */
export interface DatasetPolicy {
  readonly datasetId: string;
  readonly id: string;
  readonly version: number;
}

/** Reads the policy versions that acted in the trajectories of datasets, by name and version. */
export async function readPoliciesOfDatasets(db: Db, datasets: readonly string[]): Promise<readonly DatasetPolicy[]> {
  const { rows } = await sql<DatasetPolicy>`
    select distinct e.dataset_id, r.policy_id as id, r.policy_version as version
    from dataset_examples e join rollouts r on r.rollout_id in (e.good_rollout_id, e.bad_rollout_id) and r.tree_id = e.tree_id
    where e.dataset_id = any(${[...datasets]}::uuid[]) order by 1, 2, 3`.execute(db);
  return rows;
}

function chosen(db: Db, { datasetId, kind, treeId, revisionId, line }: ExampleFilter) {
  let query = db.selectFrom('datasetExamples').where('datasetExamples.datasetId', '=', datasetId);
  if (kind !== undefined) query = query.where('datasetExamples.kind', '=', kind);
  if (treeId !== undefined) query = query.where('datasetExamples.treeId', '=', treeId);
  if (revisionId !== undefined) query = query.where('datasetExamples.revisionId', '=', revisionId);
  if (line !== undefined) query = query.where('datasetExamples.line', '=', line);
  return query;
}

function toExample(row: Selectable<Tables['datasetExamples']>): ExampleRecord {
  return {
    datasetId: row.datasetId,
    line: row.line,
    lines: row.lines,
    kind: row.kind,
    treeId: row.treeId,
    goodRolloutId: row.goodRolloutId,
    badRolloutId: row.badRolloutId,
    revisionId: row.revisionId,
  };
}
