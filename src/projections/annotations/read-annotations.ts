import { type Selectable, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { countEach, mapPages, type Page, type PageRequest, readPages } from '../../postgres/keyset.ts';
import type { Ordering } from '../../postgres/keyset-cursor.ts';
import { wholeRowsWhere } from '../../postgres/rows-where.ts';
import type { Tables } from '../../postgres/tables.ts';

/** An annotation; of the ids of subjects the one is set that `kind` names. */
export interface AnnotationRecord extends Omit<Selectable<Tables['annotations']>, 'annotationId'> {
  readonly id: string;
}

/** What annotations are chosen by; a part that is left out chooses all. Ranges are [from, until). */
export interface AnnotationFilter {
  readonly runId?: string;
  readonly treeId?: string;
  readonly kind?: AnnotationRecord['kind'];
  readonly stepId?: string;
  readonly rolloutId?: string;
  readonly revisionId?: string;
  readonly datasetId?: string;
  readonly label?: string;
  readonly principal?: string;
  readonly scoreFrom?: number;
  readonly scoreUntil?: number;
  /** Retracted ones are among them; left out they are not. */
  readonly retracted?: boolean;
}

const KEYS = [
  { column: 'annotations.addedAt', type: 'instant' },
  { column: 'annotations.annotationId', type: 'uuid' },
  { column: 'annotations.treeId', type: 'uuid' }, // an id is one of its tree
] as const;
export const ANNOTATION_ORDERINGS = {
  ADDED_ASC: { name: 'annotations/ADDED_ASC', direction: 'asc', keys: KEYS },
  ADDED_DESC: { name: 'annotations/ADDED_DESC', direction: 'desc', keys: KEYS },
} as const satisfies Record<string, Ordering>;

/** Reads one page of annotations for each filter, in one statement. @throws InvalidCursor. */
export async function readAnnotationPages(
  db: Db,
  filters: readonly AnnotationFilter[],
  ordering: Ordering,
  page: PageRequest,
): Promise<readonly Page<AnnotationRecord>[]> {
  const queries = filters.map((filter) => chosenAnnotations(db, filter).selectAll('annotations'));
  return mapPages(await readPages(db, queries, ordering, page), toAnnotation);
}

/** Counts the annotations of each filter, in one statement. */
export async function countAnnotations(db: Db, filters: readonly AnnotationFilter[]): Promise<readonly number[]> {
  const queries = filters.map((filter) => chosenAnnotations(db, filter));
  return countEach(db, queries);
}

/** Reads annotations by their ids, in one statement, retracted ones too; ids that are unknown are left out. */
export async function readAnnotationsById(db: Db, ids: readonly string[]): Promise<readonly AnnotationRecord[]> {
  if (ids.length === 0) return [];
  const rows = await wholeRowsWhere(db, 'annotations', { annotationId: ids });
  return rows.map(toAnnotation);
}

/** Reads the annotations of trees that were not retracted, in the order in which they were added. */
export async function readAnnotationsOfTrees(db: Db, trees: readonly string[]): Promise<readonly AnnotationRecord[]> {
  if (trees.length === 0) return [];
  const rows = await wholeRowsWhere(db, 'annotations', { treeId: trees, retractedAt: null }, [
    'addedAt',
    'annotationId',
    'treeId',
  ]);
  return rows.map(toAnnotation);
}

/** A label, how many annotations have it, and the mean of their scores. */
export interface LabelCount {
  readonly label: string;
  readonly count: number;
  readonly meanScore: number | null;
}

/** Counts the labels that were given and not retracted, of a run or of everything, the most frequent first. */
export async function countLabels(db: Db, runId: string | null, limit: number): Promise<readonly LabelCount[]> {
  const { rows } = await sql<LabelCount>`
    select label, count(*) as count, avg(score::text::numeric)::float8 as mean_score from annotations
    where retracted_at is null and label is not null and (${runId}::uuid is null or run_id = ${runId}::uuid)
    group by label order by count(*) desc, label collate "C" limit ${limit}`.execute(db);
  return rows;
}

/** The annotations of a filter, as a query to go on from. */
export function chosenAnnotations(db: Db, filter: AnnotationFilter) {
  let query = db.selectFrom('annotations');
  if (filter.runId !== undefined) query = query.where('annotations.runId', '=', filter.runId);
  if (filter.treeId !== undefined) query = query.where('annotations.treeId', '=', filter.treeId);
  if (filter.kind !== undefined) query = query.where('annotations.kind', '=', filter.kind);
  if (filter.stepId !== undefined) query = query.where('annotations.stepId', '=', filter.stepId);
  if (filter.rolloutId !== undefined) query = query.where('annotations.rolloutId', '=', filter.rolloutId);
  if (filter.revisionId !== undefined) query = query.where('annotations.revisionId', '=', filter.revisionId);
  if (filter.datasetId !== undefined) query = query.where('annotations.datasetId', '=', filter.datasetId);
  if (filter.label !== undefined) query = query.where('annotations.label', '=', filter.label);
  if (filter.principal !== undefined) query = query.where('annotations.principal', '=', filter.principal);
  if (filter.scoreFrom !== undefined) query = query.where('annotations.score', '>=', filter.scoreFrom);
  if (filter.scoreUntil !== undefined) query = query.where('annotations.score', '<', filter.scoreUntil);
  return filter.retracted ? query : query.where('annotations.retractedAt', 'is', null);
}

function toAnnotation({ annotationId, ...row }: Selectable<Tables['annotations']>): AnnotationRecord {
  return { id: annotationId, ...row };
}
