import { defaultFieldResolver, GraphQLError, type GraphQLFieldResolver } from 'graphql';
import { isAsyncIterable, type Plugin } from 'graphql-yoga';
import type { Context } from '../context.ts';

/**
 * Lets a query begin when it is its turn, counts the fields that it resolves, and replaces an answer that is over a limit by the
 * one error that says so: a part never looks like the whole.
 */
export function useQueryLimits(): Plugin<Context> {
  return {
    async onExecute({ args, setResultAndStopExecution }) {
      const { turn, limits } = args.contextValue;
      args.fieldResolver = counted;
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
          if (limits.refusal) return setResult({ errors: [limits.refusal] });
          const written = { ...result, stringify: limits.write }; // which yoga writes it by
          setResult(written);
        },
      };
    },
  };
}

const counted: GraphQLFieldResolver<unknown, Context> = (source, args, context, info) => {
  context.limits.countField();
  return defaultFieldResolver(source, args, context, info);
};
