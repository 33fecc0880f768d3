import { jsonLoss } from '../../../events/json-loss.ts';
import { DatasetError, reasonOf } from '../dataset-error.ts';
import { boolean, type Column, double, int64, list, optional, struct, text } from './parquet-file.ts';

/**
 * `extra_info.tools_kwargs` of rows for verl, which takes a dict in a dict: a column of structs, whose type follows from all
 * tasks of the file. A tool that a task does not name has its fields as null, since verl reads fields of every tool.
 */
export interface ToolsKwargs {
  readonly columns: readonly Column[];
  /** Returns the fields of `extra_info`. @param json what the record holds of a task; null without. */
  of(json: string | null): Readonly<Record<string, unknown>>;
}

/** @param all what the tasks of a file have, as JSON. @throws DatasetError `invalid-query` where it fits no one type. */
export function typeToolsKwargs(all: readonly string[]): ToolsKwargs {
  const shape = all.map(parse).reduce<Shape | null>((merged, value) => merge(merged, value, 'tools_kwargs'), null);
  const column = shape && columnOf('tools_kwargs', shape);
  if (shape === null || column === null) return { columns: [], of: () => ({}) };
  return {
    columns: [boolean('need_tools_kwargs'), column],
    of: (json) => ({ need_tools_kwargs: json !== null, tools_kwargs: fill(json === null ? undefined : parse(json), shape) }),
  };
}

type Shape =
  | { readonly kind: 'text' | 'boolean' | 'integer' | 'double' }
  | { readonly kind: 'list'; readonly element: Shape | null }
  | { readonly kind: 'struct'; readonly fields: ReadonlyMap<string, Shape | null> };

function parse(json: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (cause) {
    throw refused(`the toolsKwargs of a task are no JSON (${reasonOf(cause)})`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw refused('the toolsKwargs of a task are no JSON object');
  const loss = jsonLoss(json, value);
  if (loss) throw refused(`${loss.path} ${loss.message}`);
  return value;
}

function merge(shape: Shape | null, value: unknown, path: string): Shape | null {
  if (value === null || value === undefined) return shape;
  const other = shapeOf(value);
  if (shape !== null && shape.kind !== other.kind) {
    const kinds: readonly string[] = [shape.kind, other.kind];
    if (kinds.includes('integer') && kinds.includes('double')) return { kind: 'double' };
    throw refused(`${path} is a ${shape.kind} in one place and a ${other.kind} in another`);
  }
  if (Array.isArray(value)) {
    const element = shape?.kind === 'list' ? shape.element : null;
    return { kind: 'list', element: value.reduce<Shape | null>((merged, each) => merge(merged, each, `${path}[]`), element) };
  }
  if (typeof value !== 'object') return other;
  const fields = new Map(shape?.kind === 'struct' ? shape.fields : []);
  for (const [name, each] of Object.entries(value)) fields.set(name, merge(fields.get(name) ?? null, each, `${path}.${name}`));
  return { kind: 'struct', fields };
}

function shapeOf(value: unknown): Shape {
  if (Array.isArray(value)) return { kind: 'list', element: null };
  if (typeof value === 'string') return { kind: 'text' };
  if (typeof value === 'boolean') return { kind: 'boolean' };
  if (typeof value === 'number') return { kind: Number.isSafeInteger(value) ? 'integer' : 'double' };
  return { kind: 'struct', fields: new Map() };
}

/** Null for what has no fields or holds nothing but null: Parquet has no such type, and verl takes its absence for it. */
function columnOf(name: string, shape: Shape | null): Column | null {
  switch (shape?.kind) {
    case undefined:
      return null;
    case 'text':
      return optional(text(name));
    case 'boolean':
      return optional(boolean(name));
    case 'integer':
      return optional(int64(name));
    case 'double':
      return optional(double(name));
    case 'list':
      return optional(list(name, columnOf('element', shape.element) ?? optional(text('element'))));
    case 'struct': {
      const columns = [...shape.fields].map(([field, each]) => columnOf(field, each)).filter((column) => column !== null);
      return columns.length === 0 ? null : struct(name, columns);
    }
    default:
      return shape satisfies never;
  }
}

function fill(value: unknown, shape: Shape | null): unknown {
  switch (shape?.kind) {
    case 'integer':
      return typeof value === 'number' ? BigInt(value) : null;
    case 'list':
      return Array.isArray(value) ? value.map((each) => fill(each, shape.element)) : null;
    case 'struct': {
      const given = new Map(typeof value === 'object' && value !== null ? Object.entries(value) : []);
      return Object.fromEntries([...shape.fields].map(([name, each]) => [name, fill(given.get(name), each)]));
    }
    default:
      return value ?? null;
  }
}

function refused(why: string): DatasetError {
  return new DatasetError(
    'invalid-query',
    `${why}; a column of Parquet has one type, so leave tasks out by --task, or choose other runs with --run`,
  );
}
