import { type RawBuilder, type Selectable, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { listOf } from '../../postgres/keyset.ts';
import type { Ordering } from '../../postgres/keyset-cursor.ts';
import type { Tables } from '../../postgres/tables.ts';

/** A frozen dataset as it is now. `runs` are those that its examples come from. */
export interface DatasetRecord extends Omit<Selectable<Tables['datasets']>, 'datasetId' | 'query' | 'parameters' | 'counts'> {
  readonly id: string;
  readonly query: unknown;
  readonly parameters: unknown;
  readonly counts: unknown;
}

/** What datasets are chosen by; a part that is left out chooses all. A trajectory is named by its rollout. */
export interface DatasetFilter {
  readonly name?: string;
  readonly format?: string;
  readonly withdrawn?: boolean;
  readonly runId?: string;
  readonly treeId?: string;
  readonly rolloutId?: string;
  readonly revisionId?: string;
}

const RELEASED = [
  { column: 'datasets.releasedAt', type: 'instant' },
  { column: 'datasets.datasetId', type: 'uuid' },
] as const;
export const DATASET_ORDERINGS = {
  RELEASED_ASC: { name: 'datasets/RELEASED_ASC', direction: 'asc', keys: RELEASED },
  RELEASED_DESC: { name: 'datasets/RELEASED_DESC', direction: 'desc', keys: RELEASED },
} as const satisfies Record<string, Ordering>;

/** The pages of datasets, and their counts. */
export const { pages: readDatasetPages, counts: countDatasets } = listOf(
  (db, filter: DatasetFilter) => chosen(db, filter).selectAll('datasets'),
  toDataset,
);

/** Reads every dataset, by name and version. */
export async function readDatasets(db: Db): Promise<readonly DatasetRecord[]> {
  return read(db, sql`true`);
}

/** Reads the versions of one name, the first one first. */
export async function readDatasetsOfName(db: Db, name: string): Promise<readonly DatasetRecord[]> {
  return read(db, sql`name = ${name}`);
}

/** Reads datasets by id; those that are not there are left out. */
export async function readDatasetsById(db: Db, ids: readonly string[]): Promise<readonly DatasetRecord[]> {
  return read(db, sql`dataset_id = any(${[...ids]}::uuid[])`);
}

async function read(db: Db, where: RawBuilder<unknown>): Promise<readonly DatasetRecord[]> {
  const { rows } = await sql<Selectable<Tables['datasets']>>`
    select * from datasets where ${where} order by name collate "C", version, dataset_id`.execute(db);
  return rows.map(toDataset);
}

function chosen(db: Db, { name, format, withdrawn, runId, treeId, rolloutId, revisionId }: DatasetFilter) {
  let query = db.selectFrom('datasets');
  // an id is one of its tree: where both are named, one example has both
  const all = db.selectFrom('datasetExamples').select('datasetExamples.datasetId');
  const among = treeId === undefined ? all : all.where('datasetExamples.treeId', '=', treeId);
  if (name !== undefined) query = query.where('datasets.name', '=', name);
  if (format !== undefined) query = query.where('datasets.format', '=', format);
  if (withdrawn !== undefined) query = query.where('datasets.withdrawnAt', withdrawn ? 'is not' : 'is', null);
  if (runId !== undefined) query = query.where(sql<boolean>`datasets.runs @> array[${runId}::uuid]`);
  if (treeId !== undefined) query = query.where('datasets.datasetId', 'in', among);
  if (revisionId !== undefined)
    query = query.where('datasets.datasetId', 'in', among.where('datasetExamples.revisionId', '=', revisionId));
  if (rolloutId !== undefined) {
    const good = among.where('datasetExamples.goodRolloutId', '=', rolloutId);
    const bad = among.where('datasetExamples.badRolloutId', '=', rolloutId);
    query = query.where('datasets.datasetId', 'in', good.union(bad)); // an index for each
  }
  return query;
}

function toDataset({ datasetId, ...row }: Selectable<Tables['datasets']>): DatasetRecord {
  return { id: datasetId, ...row };
}
