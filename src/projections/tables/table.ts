import type { SelectQueryBuilder } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import type { Key } from '../../postgres/keyset-cursor.ts';
import type { OfTrees } from '../answers/trees-of.ts';
import type { TableColumn } from './table-column.ts';

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
  readonly query: (db: Db, filter: Filter) => TableQuery;
  readonly keys: readonly [Key, ...Key[]];
  readonly columns: readonly TableColumn[];
  readonly from: readonly string[];
}
