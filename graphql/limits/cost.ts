import {
  type ASTNode,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
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
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';
import { largest } from '../../src/domain/extremes.ts';

type Variables = Readonly<Record<string, unknown>>;

/** What an operation asks for. */
export interface Measure {
  /** Nested fields; those of introspection do not count. */
  readonly depth: number;
  readonly aliases: number;
  /**
   * How much it may read: the objects that its answer can hold, where each list counts as long as the argument that slices it
   * (`@listSize(slicedBy:)`, also when its value comes from a variable) or as long as such lists are assumed to be; plus what
   * `@cost` says that a field costs by itself. Introspection costs nothing.
   */
  readonly cost: number;
  /** The field that costs most, and how much: its path, down to the field that costs more than half of those around it. */
  readonly dearest: { readonly path: readonly string[]; readonly cost: number };
}
const NOTHING: Measure = { depth: 0, aliases: 0, cost: 0, dearest: { path: [], cost: 0 } };

/**
 * Measures the operation that a request names, or the largest of all. A fragment counts at every place that spreads it and is
 * measured once for each kind of place: a bomb of fragments takes the time of its text. Fields that the schema does not have
 * cost nothing, and a fragment that spreads itself ends: validation refuses both.
 */
export function measure(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null,
  variables: Variables,
): Measure {
  const operations = document.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION);
  const named = operations.filter(({ name }) => name?.value === operationName);
  return (named.length > 0 ? named : operations)
    .map((operation) => measureOperation(schema, document, operation, variables))
    .reduce(
      (a, b) => ({
        depth: Math.max(a.depth, b.depth),
        aliases: Math.max(a.aliases, b.aliases),
        cost: Math.max(a.cost, b.cost),
        dearest: a.cost >= b.cost ? a.dearest : b.dearest,
      }),
      NOTHING,
    );
}

/** Where a selection is: its type, and how many items each of the `edges` and `nodes` of a connection has. */
interface Scope {
  readonly typeName: string;
  readonly items: number;
  readonly introspects: boolean;
}

function measureOperation(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Variables,
): Measure {
  const values = { ...defaultsOf(operation), ...variables };
  const fragments = new Map<string, FragmentDefinitionNode>();
  for (const node of document.definitions) if (node.kind === Kind.FRAGMENT_DEFINITION) fragments.set(node.name.value, node);
  const known = new Map<string, Measure>();
  const open = new Set<string>();
  const typeName = schema.getRootType(operation.operation)?.name ?? '';
  return selections(operation.selectionSet, { typeName, items: 1, introspects: false });

  function selections(set: SelectionSetNode | undefined, scope: Scope): Measure {
    return (set?.selections ?? []).map((node) => selection(node, scope)).reduce(add, NOTHING);
  }

  function selection(node: SelectionNode, scope: Scope): Measure {
    if (node.kind === Kind.FIELD) return field(node, scope);
    if (node.kind === Kind.FRAGMENT_SPREAD) return spread(node.name.value, scope);
    return selections(node.selectionSet, { ...scope, typeName: node.typeCondition?.name.value ?? scope.typeName });
  }

  function spread(name: string, { items, introspects }: Scope): Measure {
    const fragment = fragments.get(name);
    if (!fragment || open.has(name)) return NOTHING;
    const scope = { typeName: fragment.typeCondition.name.value, items, introspects };
    const key = `${name} ${items} ${introspects}`;
    const before = known.get(key);
    if (before) return before;
    open.add(name);
    const measured = selections(fragment.selectionSet, scope);
    open.delete(name);
    known.set(key, measured);
    return measured;
  }

  function field(node: FieldNode, scope: Scope): Measure {
    const introspects = scope.introspects || node.name.value.startsWith('__');
    const type = schema.getType(scope.typeName);
    const definition = isObjectType(type) ? type.getFields()[node.name.value] : undefined;
    const aliases = node.alias ? 1 : 0;
    if (introspects || !definition) {
      const below = selections(node.selectionSet, { typeName: '', items: 1, introspects });
      return { ...NOTHING, depth: introspects ? 0 : below.depth + 1, aliases: below.aliases + aliases };
    }
    const named = getNamedType(definition.type);
    const { weight, size } = priceOf(schema, definition);
    const length = size ? lengthOf(node, size, definition, values) : 1;
    const list = isListType(getNullableType(definition.type));
    // A connection's own `edges` and `nodes` are as many as the connection was asked for.
    const times = list ? (size ? length : scope.items) : 1;
    const below = selections(node.selectionSet, { typeName: named.name, items: list ? 1 : length, introspects });
    const own = weight ?? (isLeafType(named) ? 0 : 1);
    const cost = times * (own + below.cost);
    const isSpent = below.dearest.cost * 2 > own + below.cost;
    const path = [node.alias?.value ?? node.name.value, ...(isSpent ? below.dearest.path : [])];
    return { depth: below.depth + 1, aliases: below.aliases + aliases, cost, dearest: { path, cost } };
  }
}

function add(a: Measure, b: Measure): Measure {
  return {
    depth: Math.max(a.depth, b.depth),
    aliases: a.aliases + b.aliases,
    cost: a.cost + b.cost,
    dearest: a.dearest.cost >= b.dearest.cost ? a.dearest : b.dearest,
  };
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
  return asked.length > 0 ? largest(asked, 0) : assumed;
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
