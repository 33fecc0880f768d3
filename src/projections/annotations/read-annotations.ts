import { type Selectable, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { exactMean } from '../../postgres/exact-sum.ts';
import { listOf, whereEqual } from '../../postgres/keyset.ts';
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

/** The pages of annotations, and their counts. */
export const { pages: readAnnotationPages, counts: countAnnotations } = listOf(
  (db, filter: AnnotationFilter) => chosenAnnotations(db, filter).selectAll('annotations'),
  toAnnotation,
);

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

/** Reads what a principal says of a row of a dataset under a label and has not retracted, oldest first. */
export async function readStandingOfRow(
  db: Db,
  row: { readonly datasetId: string; readonly line: number; readonly label: string; readonly principal: string },
): Promise<readonly AnnotationRecord[]> {
  const rows = await wholeRowsWhere(db, 'annotations', { ...row, retractedAt: null }, ['addedAt', 'annotationId']);
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
    select label, count(*) as count, ${exactMean(sql`score`)} as mean_score from annotations
    where retracted_at is null and label is not null and (${runId}::uuid is null or run_id = ${runId}::uuid)
    group by label order by count(*) desc, label collate "C" limit ${limit}`.execute(db);
  return rows;
}

/** The annotations of a filter, as a query to go on from. */
export function chosenAnnotations(db: Db, filter: AnnotationFilter) {
  let query = whereEqual(db.selectFrom('annotations'), 'annotations', filter, [
    ...(['runId', 'treeId', 'kind', 'stepId', 'rolloutId', 'revisionId', 'datasetId', 'label', 'principal'] as const),
  ]);
  if (filter.scoreFrom !== undefined) query = query.where('annotations.score', '>=', filter.scoreFrom);
  if (filter.scoreUntil !== undefined) query = query.where('annotations.score', '<', filter.scoreUntil);
  return filter.retracted ? query : query.where('annotations.retractedAt', 'is', null);
}

function toAnnotation({ annotationId, ...row }: Selectable<Tables['annotations']>): AnnotationRecord {
  return { id: annotationId, ...row };
}
