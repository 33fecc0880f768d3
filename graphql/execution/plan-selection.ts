import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLError,
  type GraphQLField,
  type GraphQLFieldResolver,
  GraphQLIncludeDirective,
  type GraphQLLeafType,
  type GraphQLObjectType,
  type GraphQLSchema,
  GraphQLSkipDirective,
  getDirectiveValues,
  isLeafType,
  isNonNullType,
  Kind,
  type OperationDefinitionNode,
  SchemaMetaFieldDef,
  type SelectionNode,
  type SelectionSetNode,
  TypeMetaFieldDef,
  TypeNameMetaFieldDef,
} from 'graphql';
import type { CopiedRows } from '../../src/postgres/copied-rows.ts';
import type { Context } from '../context.ts';
import type { Written } from './written.ts';

/** One query that is being executed. */
export interface Execution {
  readonly schema: GraphQLSchema;
  readonly operation: OperationDefinitionNode;
  readonly fragments: Record<string, FragmentDefinitionNode>;
  readonly variables: Record<string, unknown>;
  readonly rootValue: unknown;
  readonly context: Context;
  /** Resolves fields that have no resolver of their own, and counts them. */
  readonly resolve: GraphQLFieldResolver<unknown, Context>;
  readonly errors: GraphQLError[];
  /** The parts of the answer that are JSON already. */
  readonly written: Written[];
  /** Rows that are looked at, until all is answered. */
  readonly copied: Set<CopiedRows<unknown>>;
}

/** What is selected of values of one type. */
export interface Plan {
  readonly type: GraphQLObjectType;
  readonly fields: readonly FieldPlan[];
}

export interface FieldPlan {
  readonly parentType: GraphQLObjectType;
  /** Its name in the answer. */
  readonly key: string;
  readonly name: string;
  readonly nodes: readonly FieldNode[];
  readonly definition: GraphQLField<unknown, unknown>;
  /** The type of a property that is answered as it is; null where a resolver, or a selection below, has work to do. */
  readonly leaf: GraphQLLeafType | null;
  readonly required: boolean;
  /** Found when first needed, and the same for every value of a list. */
  args: Record<string, unknown> | undefined;
  below: Plan | undefined;
}

/** Gathers what nodes select of a type, through their fragments, in the order in which it is answered. */
export function planOf(
  execution: Execution,
  type: GraphQLObjectType,
  nodes: readonly { readonly selectionSet?: SelectionSetNode | undefined }[],
): Plan {
  const fields = new Map<string, FieldNode[]>();
  const seen = new Set<string>();
  for (const { selectionSet } of nodes) if (selectionSet) collect(execution, type, selectionSet, fields, seen);
  return { type, fields: [...fields].flatMap(([key, alike]) => planOfField(execution.schema, type, key, alike) ?? []) };
}

function planOfField(
  schema: GraphQLSchema,
  parentType: GraphQLObjectType,
  key: string,
  nodes: readonly FieldNode[],
): FieldPlan | undefined {
  const name = nodes[0]?.name.value ?? '';
  const definition = definitionOf(schema, parentType, name);
  if (!definition) return undefined;
  const required = isNonNullType(definition.type);
  const type = isNonNullType(definition.type) ? definition.type.ofType : definition.type;
  const leaf = !definition.resolve && isLeafType(type) ? type : null;
  return { parentType, key, name, nodes, definition, leaf, required, args: undefined, below: undefined };
}

function definitionOf(schema: GraphQLSchema, type: GraphQLObjectType, name: string): GraphQLField<unknown, unknown> | undefined {
  const ofQuery = schema.getQueryType() === type;
  if (name === SchemaMetaFieldDef.name && ofQuery) return SchemaMetaFieldDef;
  if (name === TypeMetaFieldDef.name && ofQuery) return TypeMetaFieldDef;
  return name === TypeNameMetaFieldDef.name ? TypeNameMetaFieldDef : type.getFields()[name];
}

function collect(
  execution: Execution,
  type: GraphQLObjectType,
  set: SelectionSetNode,
  fields: Map<string, FieldNode[]>,
  seen: Set<string>,
): void {
  for (const selection of set.selections) {
    if (!isIncluded(execution, selection)) continue;
    if (selection.kind === Kind.FIELD) {
      const key = selection.alias?.value ?? selection.name.value;
      const alike = fields.get(key);
      if (alike) alike.push(selection);
      else fields.set(key, [selection]);
      continue;
    }
    if (selection.kind === Kind.FRAGMENT_SPREAD) {
      if (seen.has(selection.name.value)) continue;
      seen.add(selection.name.value);
    }
    const fragment = selection.kind === Kind.INLINE_FRAGMENT ? selection : execution.fragments[selection.name.value];
    const condition = fragment?.typeCondition?.name.value;
    if (fragment && (condition === undefined || condition === type.name))
      collect(execution, type, fragment.selectionSet, fields, seen);
  }
}

function isIncluded({ variables }: Execution, node: SelectionNode): boolean {
  if (!node.directives || node.directives.length === 0) return true;
  if (getDirectiveValues(GraphQLSkipDirective, node, variables)?.if === true) return false;
  return getDirectiveValues(GraphQLIncludeDirective, node, variables)?.if !== false;
}
