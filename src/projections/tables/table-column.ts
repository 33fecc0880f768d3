import type { RawBuilder } from 'kysely';

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
