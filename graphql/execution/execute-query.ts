import {
  type ExecutionArgs,
  type ExecutionResult,
  type FragmentDefinitionNode,
  type GraphQLError,
  type GraphQLSchema,
  getVariableValues,
  isAbstractType,
  isIntrospectionType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
} from 'graphql';
import type { CopiedRows } from '../../src/postgres/copied-rows.ts';
import type { Context } from '../context.ts';
import { executeSelection } from './execute-selection.ts';
import { planOf } from './plan-selection.ts';
import { stringifyWritten, type Written } from './written.ts';

type Execute = (args: ExecutionArgs) => unknown;

/**
 * Executes queries as the executor of yoga does, to the same bytes, errors included: fields that no resolver has work for are
 * read off their record, without the arguments, the path and the info that the executor makes for each. Of a tree of 1,000 steps
 * with ten fields that is a fifth of all work. No resolver here throws what is no Error or answers an async iterable, where both
 * differ. Mutations, subscriptions and requests that cannot be begun are left to it.
 */
export function executeQuery(args: ExecutionArgs, otherwise: Execute): unknown {
  const operation = queryOf(args);
  if (operation === undefined || !isPlain(args.schema)) return otherwise(args);
  const { schema, rootValue } = args;
  const given = getVariableValues(schema, operation.variableDefinitions ?? [], args.variableValues ?? {}, { maxErrors: 50 });
  const root = schema.getQueryType();
  if (given.errors || !root || !args.fieldResolver) return otherwise(args);
  const errors: GraphQLError[] = [];
  const written: Written[] = [];
  const copied = new Set<CopiedRows<unknown>>();
  const execution = {
    schema,
    rootValue,
    operation,
    errors,
    written,
    copied,
    fragments: fragmentsOf(args),
    variables: given.coerced,
    context: args.contextValue as Context, // as createGraphql makes it
    resolve: args.fieldResolver,
  };
  const answer = (data: Record<string, unknown> | null): ExecutionResult => {
    if (errors.length === 0) for (const rows of copied) rows.release(); // where one failed, others may still be under way
    return {
      ...(errors.length === 0 ? { data } : { errors, data }),
      ...(written.length > 0 && { stringify: stringifyWritten }), // by which yoga writes it
    };
  };
  const failed = (error: unknown): ExecutionResult => {
    errors.push(error as GraphQLError); // located where it was caught
    return answer(null);
  };
  try {
    const data = executeSelection(execution, planOf(execution, root, [operation]), rootValue, undefined);
    return data instanceof Promise ? data.then(answer, failed) : answer(data);
  } catch (error) {
    return failed(error);
  }
}

/** The query that is asked for; undefined of all that is not one. */
function queryOf(args: ExecutionArgs): OperationDefinitionNode | undefined {
  const { document, operationName } = args;
  if ('signal' in args && args.signal) return undefined;
  const operations = document.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION);
  const named = operationName == null ? operations : operations.filter(({ name }) => name?.value === operationName);
  const [operation] = named;
  return named.length === 1 && operation?.operation === 'query' ? operation : undefined;
}

function fragmentsOf({ document }: ExecutionArgs): Record<string, FragmentDefinitionNode> {
  const fragments: Record<string, FragmentDefinitionNode> = Object.create(null);
  for (const node of document.definitions) if (node.kind === Kind.FRAGMENT_DEFINITION) fragments[node.name.value] = node;
  return fragments;
}

const known = new WeakMap<GraphQLSchema, boolean>();

/** Whether the type of every value is known from the schema. */
function isPlain(schema: GraphQLSchema): boolean {
  let plain = known.get(schema);
  if (plain === undefined) {
    const types = Object.values(schema.getTypeMap()).filter((type) => !isIntrospectionType(type));
    plain = !types.some((type) => isAbstractType(type) || (isObjectType(type) && type.isTypeOf));
    known.set(schema, plain);
  }
  return plain;
}
