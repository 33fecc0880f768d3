import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { exactMean } from '../../postgres/exact-sum.ts';
import type { Key } from '../../postgres/keyset-cursor.ts';
import type { OfTrees } from '../analysis/trees-of.ts';

/** The types of columns. They never change with the data: a float is a float64 also where all values are whole. */
export type ColumnType =
  | 'utf8'
  | 'bool'
  | 'int32'
  | 'int64'
  | 'float64'
  /** Microseconds since 1970 in UTC. */
  | 'instant'
  /** Lists of numbers that lie packed in the record: token ids, log-probs, masks. */
  | 'int32s'
  | 'float32s'
  | 'uint8s'
  /** A list of texts. */
  | 'texts'
  /** A list of `{component, value}`. */
  | 'amounts';

/** A column of a table that is read whole, for analysis. Every column may be null. */
export interface TableColumn {
  readonly name: string;
  readonly type: ColumnType;
  readonly value: RawBuilder<unknown>;
  /** What it holds, as the metadata `description` of the field says it. */
  readonly says: string;
  /** It holds payload: null where something of its tree is forgotten. */
  readonly payload?: true;
  /** The field whose text may lie in the blob store; then the value is '' and `blobs` of the row names it. */
  readonly large?: string;
  /** The bytes that its value takes, computed without reading it. Columns without one are a few bytes. */
  readonly bytes?: RawBuilder<number>;
}

/** What the rows of all tables may be chosen by. */
export interface TableFilter extends Omit<OfTrees, 'runId'> {
  /** Any of these runs. */
  readonly runIds?: readonly string[];
}

// biome-ignore lint/suspicious/noExplicitAny: what is joined differs from table to table; its columns are raw SQL
export type TableQuery = SelectQueryBuilder<any, any, object>;

/** A table whose rows lie in trees. They come run by run, in each tree by tree as these were opened. */
export interface TreeTable<Filter extends TableFilter = TableFilter> {
  readonly kind: 'trees';
  readonly name: string;
  /** What its rows are. */
  readonly summary: string;
  /** Joins `trees`; the filter of trees is not applied here. */
  readonly query: (db: Db, filter: Filter) => TableQuery;
  /** The order within a tree; the last key is the id of a row. */
  readonly keys: readonly [Key, ...Key[]];
  readonly columns: readonly TableColumn[];
  /** The projections that it is read from. */
  readonly from: readonly string[];
  /** Whether streams of runs and trees alone hold what the filter asks of: a moment is folded from these. */
  readonly ofStreams: (filter: Filter) => boolean;
}

/** A table of what belongs to policies. */
export interface PolicyTable<Filter extends TableFilter = TableFilter> {
  readonly kind: 'policies';
  readonly name: string;
  /** What its rows are. */
  readonly summary: string;
  readonly query: (db: Db, filter: Filter) => TableQuery;
  readonly keys: readonly [Key, ...Key[]];
  readonly columns: readonly TableColumn[];
  readonly from: readonly string[];
}

/** Describes a column. @param says what it holds. */
export function column(
  name: string,
  type: ColumnType,
  value: RawBuilder<unknown>,
  says: string,
  more: Pick<TableColumn, 'payload' | 'large' | 'bytes'> = {},
): TableColumn {
  return { name, type, value, says, ...more };
}

/** Returns an instant as microseconds since 1970: exact, and below 2^53 until the year 2255. */
export function microseconds(at: string): RawBuilder<unknown> {
  return sql`(extract(epoch from ${sql.ref(at)}) * 1000000)::bigint`;
}

/** The columns that say where a row lies. */
export const WHERE: readonly TableColumn[] = [
  column('run_id', 'utf8', sql`trees.run_id::text`, 'Id of the run.'),
  column('tree_id', 'utf8', sql`trees.tree_id::text`, 'Id of the tree, which is the group.'),
];

/** The columns that say what its tree was opened for. */
export const TASK: readonly TableColumn[] = [
  column('task_id', 'utf8', sql`trees.task_id::text`, 'Id of the task.'),
  column('task', 'utf8', sql`trees.alias`, 'Name of the task in its environment.'),
  column('environment', 'utf8', sql`trees.environment`, 'The environment.'),
  column('split', 'utf8', sql`trees.split`, 'Split of the task.'),
  column('task_depth', 'int32', sql`trees.task_depth`, 'Depth of the task.'),
];

/** Whether something of the payload is forgotten is added behind the read: the keys of streams belong to no project. */
export const FORGOTTEN: TableColumn = column(
  'forgotten',
  'bool',
  sql`false`,
  'Something of the payload of the tree is forgotten; then the columns of payload are null.',
);

/** The columns of what a row is annotated with. @param of the condition on an annotation `n`. */
export function annotationColumns(of: RawBuilder<unknown>): readonly TableColumn[] {
  const said = sql`from annotations n where ${of} and n.retracted_at is null`;
  return [
    column(
      'labels',
      'utf8',
      sql`(select string_agg(distinct n.label, ',' order by n.label) ${said})`,
      'The labels that it is annotated with, with commas between them; null without one.',
    ),
    column(
      'annotation_score',
      'float64',
      sql`(select ${exactMean(sql`n.score`)} ${said})`,
      'The mean score of its annotations; null without one.',
    ),
  ];
}
