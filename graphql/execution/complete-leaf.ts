import {
  type FieldNode,
  GraphQLError,
  type GraphQLLeafType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  isNonNullType,
  locatedError,
} from 'graphql';

export type Path = GraphQLResolveInfo['path'];

/** Answers a value of a leaf. @throws Error where it cannot be a value of its type. */
export function completeLeaf(type: GraphQLLeafType, value: unknown): unknown {
  if (value instanceof Error) throw value;
  let serialized: unknown;
  try {
    serialized = type.serialize(value);
  } catch (error) {
    throw error instanceof GraphQLError ? new Error(error.message) : error; // located where it is caught
  }
  if (serialized == null)
    throw new Error(`Expected \`${type}.serialize(${String(value)})\` to return non-nullable value, returned: ${serialized}`);
  return serialized;
}

/** Locates what was thrown, and keeps it where the type allows null in its place; otherwise the value above is to be null. */
export function caught(
  { errors }: { readonly errors: GraphQLError[] },
  thrown: unknown,
  nodes: readonly FieldNode[],
  path: Path,
  type: GraphQLOutputType,
): null {
  const parts = thrown instanceof AggregateError && typeof path.key !== 'number'; // of an item its own words, as yoga has it
  for (const error of parts ? thrown.errors : [thrown]) {
    const located = locatedError(error, nodes, keysOf(path));
    if (isNonNullType(type)) throw located;
    errors.push(located);
  }
  return null;
}

function keysOf(path: Path): (string | number)[] {
  const keys: (string | number)[] = [];
  for (let at: Path | undefined = path; at; at = at.prev) keys.push(at.key);
  return keys.reverse();
}
