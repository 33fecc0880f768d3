import type { ColumnType } from 'kysely';

/** What columns are made of where the plain type of TypeScript does not say it all. */

/** Read as a value, written by the query builder as the text of its JSON; bulk writes take the value. */
export type Json<Value> = ColumnType<Value, string, string>;
export type Instant = ColumnType<Date, Date | string, Date | string>;
/** A column with a default: an insert may leave it out. */
export type Defaulted<T> =
  T extends ColumnType<infer Selected, infer Inserted, infer Updated>
    ? ColumnType<Selected, Inserted | undefined, Updated>
    : ColumnType<T, T | undefined, T>;

/** Long texts of a row that lie in the blob store: {field: reference}. */
export type Blobs = Record<string, { blob: string; size: number; mediaType: string }>;
