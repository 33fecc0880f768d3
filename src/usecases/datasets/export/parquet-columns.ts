import type { SchemaElement } from 'hyparquet';

/** One column of a Parquet schema with all that is nested in it, in the order of the file's footer. */
export type Column = SchemaElement[];

/** Makes a schema of its columns. */
export function root(columns: readonly Column[]): SchemaElement[] {
  return [{ name: 'root', num_children: columns.length }, ...columns.flat()];
}
/** Makes a column of structs. */
export function struct(name: string, fields: readonly Column[]): Column {
  return [{ name, repetition_type: 'REQUIRED', num_children: fields.length }, ...fields.flat()];
}
/** Makes a column of lists, in the standard three levels. @param element the column named `element`. */
export function list(name: string, element: Column): Column {
  return [
    { name, repetition_type: 'REQUIRED', converted_type: 'LIST', logical_type: { type: 'LIST' }, num_children: 1 },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    ...element,
  ];
}
/** Lets a column be null. */
export function optional([first, ...rest]: Column): Column {
  return first ? [{ ...first, repetition_type: 'OPTIONAL' }, ...rest] : [];
}
export function text(name: string): Column {
  return [{ name, type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' }, repetition_type: 'REQUIRED' }];
}
export function binary(name: string): Column {
  return [{ name, type: 'BYTE_ARRAY', repetition_type: 'REQUIRED' }];
}
export function boolean(name: string): Column {
  return [{ name, type: 'BOOLEAN', repetition_type: 'REQUIRED' }];
}
export function int32(name: string): Column {
  return [{ name, type: 'INT32', repetition_type: 'REQUIRED' }];
}
/** Makes a column of 64-bit integers; its values are bigints. */
export function int64(name: string): Column {
  return [{ name, type: 'INT64', repetition_type: 'REQUIRED' }];
}
export function float(name: string): Column {
  return [{ name, type: 'FLOAT', repetition_type: 'REQUIRED' }];
}
export function double(name: string): Column {
  return [{ name, type: 'DOUBLE', repetition_type: 'REQUIRED' }];
}
export function instant(name: string): Column {
  return [{ name, type: 'INT64', converted_type: 'TIMESTAMP_MILLIS', repetition_type: 'REQUIRED' }];
}
