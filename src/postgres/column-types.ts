import type { ColumnType, JSONColumnType } from 'kysely';

/** What columns of the tables are made of. */
export type Json = JSONColumnType<Record<string, unknown>>;
export type Instant = ColumnType<Date, Date | string, Date | string>;
export type InstantOrNull = ColumnType<Date | null, Date | string | null, Date | string | null>;

/** Long texts of a row that lie in the blob store: {field: reference}. */
export type Blobs = Record<string, { blob: string; size: number; mediaType: string }>;
export type BlobsColumn = ColumnType<Blobs | null, string | null, string | null>;
