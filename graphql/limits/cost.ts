import {
  type ASTNode,
  type DocumentNode,
  type FieldNode,
  type GraphQLField,
  type GraphQLSchema,
  getDirectiveValues,
  getNamedType,
  getNullableType,
  isLeafType,
  isListType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
} from 'graphql';
import { foldOperation, operationsOf } from './walk.ts';

type Variables = Readonly<Record<string, unknown>>;

/**
 * Returns how much an operation may read: the objects that its answer can hold, where each list counts as long as the argument
 * that slices it (`@listSize(slicedBy:)`, also when its value comes from a variable) or as long as such lists are assumed to be;
 * plus what `@cost` says that a field costs by itself. Introspection costs nothing. Fields that the schema does not have cost
 * nothing: validation refuses them.
 */
export function costOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null,
  variables: Variables,
): number {
  return Math.max(
    0,
    ...operationsOf(document, operationName).map((operation) => costOfOperation(schema, document, operation, variables)),
  );
}

/** Where a selection lies: its type, and how many items each of the `edges` and `nodes` of a connection has. */
interface Scope {
  readonly typeName: string;
  readonly items: number;
}

function costOfOperation(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Variables,
): number {
  const defaults = defaultsOf(operation);
  const root = schema.getRootType(operation.operation)?.name ?? '';
  return foldOperation<number, Scope>(
    document,
    operation,
    { typeName: root, items: 1 },
    {
      empty: 0,
      add: (a, b) => a + b,
      narrow: (scope, typeName) => ({ ...scope, typeName }),
      key: ({ typeName, items }) => `${typeName} ${items}`,
      field(node, scope, inner) {
        const type = schema.getType(scope.typeName);
        const definition = isObjectType(type) ? type.getFields()[node.name.value] : undefined;
        if (!definition) return 0;
        const named = getNamedType(definition.type);
        const { weight, size } = priceOf(schema, definition);
        const length = size ? lengthOf(node, size, definition, { ...defaults, ...variables }) : 1;
        const list = isListType(getNullableType(definition.type));
        // A connection's own `edges` and `nodes` are as many as the connection was asked for.
        const times = list ? (size ? length : scope.items) : 1;
        const own = weight ?? (isLeafType(named) ? 0 : 1);
        return (
          times *
          ((isLeafType(named) && weight === undefined ? 0 : own) + inner({ typeName: named.name, items: list ? 1 : length }))
        );
      },
    },
  );
}

interface Size {
  readonly assumed: number;
  readonly slicedBy: string | undefined;
}
const prices = new WeakMap<GraphQLField<unknown, unknown>, { weight: number | undefined; size: Size | undefined }>();

function priceOf(schema: GraphQLSchema, field: GraphQLField<unknown, unknown>) {
  let price = prices.get(field);
  if (!price) {
    const of = (name: string) => {
      const directive = schema.getDirective(name);
      return directive && field.astNode ? getDirectiveValues(directive, field.astNode) : undefined;
    };
    const size = of('listSize');
    price = {
      weight: of('cost')?.weight as number | undefined, // Int! in the SDL
      size: size && { assumed: size.assumed as number, slicedBy: size.slicedBy as string | undefined }, // Int!, String
    };
    prices.set(field, price);
  }
  return price;
}

/** How long a list may be: what slices it, where the query says so. `last` slices a connection as `first` does. */
function lengthOf(
  node: FieldNode,
  { assumed, slicedBy }: Size,
  definition: GraphQLField<unknown, unknown>,
  variables: Variables,
): number {
  if (slicedBy === undefined) return assumed;
  const names = definition.args.some(({ name }) => name === 'last') ? [slicedBy, 'last'] : [slicedBy];
  const asked = (node.arguments ?? [])
    .filter(({ name }) => names.includes(name.value))
    .map(({ value }) => (value.kind === Kind.VARIABLE ? variables[value.name.value] : literal(value)))
    .filter((value) => typeof value === 'number');
  return asked.length > 0 ? Math.max(0, ...asked) : assumed;
}

function defaultsOf(operation: OperationDefinitionNode): Variables {
  const entries = (operation.variableDefinitions ?? []).map(({ variable, defaultValue }) => [
    variable.name.value,
    defaultValue && literal(defaultValue),
  ]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

function literal(value: ASTNode): number | undefined {
  return value.kind === Kind.INT ? Number(value.value) : undefined;
}
