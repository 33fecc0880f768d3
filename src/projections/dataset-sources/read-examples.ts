import { type Selectable, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { listOf, whereEqual } from '../../postgres/keyset.ts';
import type { Ordering } from '../../postgres/keyset-cursor.ts';
import type { Tables } from '../../postgres/tables.ts';
import { keyInTree } from '../of-tree.ts';

/** An example of a released dataset and the record that it was made of. `line` is its first line in the file, from 1. */
export type ExampleRecord = Selectable<Tables['datasetExamples']>;

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

/** The pages of examples, and their counts. */
export const { pages: readExamplePages, counts: countExamples } = listOf(
  (db, filter: ExampleFilter) =>
    whereEqual(db.selectFrom('datasetExamples'), 'datasetExamples', filter, [
      ...(['datasetId', 'kind', 'treeId', 'revisionId', 'line'] as const),
    ]).selectAll('datasetExamples'),
  (row): ExampleRecord => row,
);

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
