import {
  type FieldNode,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  getArgumentValues,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import { CopiedRows } from '../../src/postgres/copied-rows.ts';
import { caught, completeLeaf, type Path } from './complete-leaf.ts';
import { type Execution, type FieldPlan, type Plan, planOf } from './plan-selection.ts';
import { writeRows } from './write-rows.ts';
import type { Written } from './written.ts';

type Fields = Record<string, unknown>;
type MaybePromise<T> = T | Promise<T>;

/** Answers what is selected of a value. */
export function executeSelection(
  execution: Execution,
  { type, fields }: Plan,
  source: unknown,
  path: Path | undefined,
): MaybePromise<Fields> {
  const answered: Fields = Object.create(null);
  let waits = false;
  try {
    for (const field of fields) {
      const value = field.leaf === null ? undefined : plainValue(execution, field, source, path);
      const result = value === undefined ? executeField(execution, field, source, at(path, field.key, type.name)) : value;
      answered[field.key] = result;
      if (isPromise(result)) waits = true;
    }
  } catch (error) {
    if (!waits) throw error;
    const rethrow = (): never => {
      throw error;
    };
    return allOf(answered).then(rethrow, rethrow); // what the others reject with is caught
  }
  return waits ? allOf(answered) : answered;
}

/** The value of a property that needs no resolver; undefined where the way of all fields is to be taken. */
function plainValue(execution: Execution, field: FieldPlan, source: unknown, path: Path | undefined): unknown {
  if (typeof source !== 'object' || source === null) return undefined;
  const value = (source as Fields)[field.name];
  if (typeof value === 'function' || (typeof value === 'object' && value !== null && isPromise(value))) return undefined;
  if (field.required && value == null) return undefined; // an error, worded there
  try {
    execution.context.meter.field();
    if (value == null) return null;
    return completeLeaf(field.leaf as NonNullable<FieldPlan['leaf']>, value); // asked for by the caller
  } catch (error) {
    return caught(execution, error, field.nodes, at(path, field.key, field.parentType.name), field.definition.type);
  }
}

function executeField(execution: Execution, field: FieldPlan, source: unknown, path: Path): unknown {
  const { definition, nodes } = field;
  try {
    field.args ??= getArgumentValues(definition, nodes[0] as FieldNode, execution.variables); // a plan has nodes
    const resolve = definition.resolve ?? execution.resolve;
    const result: unknown = resolve(source, field.args, execution.context, infoOf(execution, field, path));
    const completed = isPromise(result)
      ? result.then((value) => completeValue(execution, field, definition.type, path, value))
      : completeValue(execution, field, definition.type, path, result);
    return isPromise(completed)
      ? completed.then(undefined, (error) => caught(execution, error, nodes, path, definition.type))
      : completed;
  } catch (error) {
    return caught(execution, error, nodes, path, definition.type);
  }
}

/** Written in one piece: an object that is put together of others takes ten times as long, and there is one for each field. */
function infoOf(execution: Execution, field: FieldPlan, path: Path): GraphQLResolveInfo {
  return {
    fieldName: field.definition.name,
    fieldNodes: field.nodes,
    returnType: field.definition.type,
    parentType: field.parentType,
    path,
    schema: execution.schema,
    fragments: execution.fragments,
    rootValue: execution.rootValue,
    operation: execution.operation,
    variableValues: execution.variables,
  };
}

function completeValue(
  execution: Execution,
  field: FieldPlan,
  type: GraphQLOutputType,
  path: Path,
  value: unknown,
): MaybePromise<unknown> {
  if (value instanceof Error) throw value;
  if (isNonNullType(type)) {
    const completed = completeValue(execution, field, type.ofType, path, value);
    if (completed === null)
      throw new Error(`Cannot return null for non-nullable field ${field.parentType.name}.${field.definition.name}.`);
    return completed;
  }
  if (value == null) return null;
  if (isListType(type)) return completeList(execution, field, type.ofType, path, value);
  if (isLeafType(type)) return completeLeaf(type, value);
  if (!isObjectType(type)) throw new TypeError(`the schema has no abstract types, as ${String(type)} is`);
  field.below ??= planOf(execution, type, field.nodes);
  return executeSelection(execution, field.below, value, path);
}

function completeList(
  execution: Execution,
  field: FieldPlan,
  type: GraphQLOutputType,
  path: Path,
  list: unknown,
): MaybePromise<unknown[]> {
  if (list instanceof CopiedRows) {
    execution.copied.add(list);
    const written = writtenList(execution, field, type, list);
    if (written) return written as unknown as unknown[]; // it stands for the list until the answer is written
  }
  if (typeof list !== 'object' || list === null || !(Symbol.iterator in list))
    throw new Error(`Expected Iterable, but did not find one for field "${field.parentType.name}.${field.definition.name}".`);
  const items: unknown[] = [];
  let waits = false;
  for (const item of list as Iterable<unknown>) {
    const itemPath = at(path, items.length, undefined);
    let completed: unknown;
    try {
      completed = isPromise(item)
        ? item.then((value) => completeValue(execution, field, type, itemPath, value))
        : completeValue(execution, field, type, itemPath, item);
      if (isPromise(completed)) {
        completed = completed.then(undefined, (error) => caught(execution, error, field.nodes, itemPath, type));
        waits = true;
      }
    } catch (error) {
      try {
        completed = caught(execution, error, field.nodes, itemPath, type);
      } catch (located) {
        for (const before of items) if (isPromise(before)) before.then(undefined, () => undefined); // nobody waits for them
        throw located;
      }
    }
    items.push(completed);
  }
  return waits ? Promise.all(items) : items;
}

/** The list in its form in the answer, where no item of it has to be looked at. */
function writtenList(
  execution: Execution,
  field: FieldPlan,
  type: GraphQLOutputType,
  rows: CopiedRows<unknown>,
): Written | undefined {
  const item = isNonNullType(type) ? type.ofType : type;
  if (!isObjectType(item)) return undefined;
  field.below ??= planOf(execution, item, field.nodes);
  const written = writeRows(rows, field.below, (fields) => execution.context.meter.fields(fields));
  if (written) execution.written.push(written);
  return written;
}

/** Waits for the fields that are promises, and keeps their order. */
function allOf(fields: Fields): Promise<Fields> {
  const settled: Fields = Object.create(null);
  const promises: Promise<unknown>[] = [];
  for (const key in fields) {
    const value = fields[key];
    settled[key] = value;
    if (!isPromise(value)) continue;
    settled[key] = undefined;
    promises.push(
      value.then((resolved) => {
        settled[key] = resolved;
      }),
    );
  }
  const [first] = promises;
  const all: Promise<unknown> = promises.length === 1 && first ? first : Promise.all(promises);
  return all.then(() => settled);
}

function at(prev: Path | undefined, key: string | number, typename: string | undefined): Path {
  return { prev, key, typename };
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof (value as { readonly then?: unknown } | null)?.then === 'function';
}
