import { defaultFieldResolver, GraphQLError, type GraphQLFieldResolver, type GraphQLSchema, isObjectType } from 'graphql';
import { isAsyncIterable, type Plugin } from 'graphql-yoga';
import type { Context } from '../context.ts';

/**
 * Lets a query begin when it is its turn, counts what it resolves, and replaces an answer that is over a limit by the one error
 * that says so: a part never looks like the whole.
 */
export function useQueryLimits(): Plugin<Context> {
  return {
    async onExecute({ args, setResultAndStopExecution }) {
      const { turn, limits } = args.contextValue;
      args.fieldResolver = counted(defaultFieldResolver);
      try {
        await turn.take();
      } catch (error) {
        if (!(error instanceof GraphQLError)) throw error;
        return void setResultAndStopExecution({ errors: [error] });
      }
      return {
        onExecuteDone({ result, setResult }) {
          turn.end();
          if (isAsyncIterable(result)) return;
          if (limits.refusal) setResult({ errors: [limits.refusal] });
        },
      };
    },
  };
}

/** Has fields of a schema that have a resolver of their own counted too. */
export function countOwnFields(schema: GraphQLSchema): GraphQLSchema {
  for (const type of Object.values(schema.getTypeMap())) {
    if (!isObjectType(type)) continue;
    for (const field of Object.values(type.getFields())) if (field.resolve) field.resolve = counted(field.resolve);
  }
  return schema;
}

/** While they are resolved, so that an answer which is too large is never held as a whole. What a subscription sends is many answers. */
function counted(resolve: GraphQLFieldResolver<unknown, Context>): GraphQLFieldResolver<unknown, Context> {
  return (source, args, context, info) => {
    if (info.operation.operation === 'subscription') return resolve(source, args, context, info);
    const { limits } = context;
    limits.countField(String(info.path.key));
    const value: unknown = resolve(source, args, context, info);
    if (info.fieldNodes[0]?.selectionSet) return value; // its fields are counted by themselves
    if (!(value instanceof Promise)) return limits.countValue(value);
    return value.then(limits.countValue);
  };
}
