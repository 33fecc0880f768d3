import { GraphQLError } from 'graphql';
import { isAsyncIterable, type Plugin } from 'graphql-yoga';
import type { Context } from '../context.ts';

/**
 * Lets a query begin when it is its turn, and replaces an answer that is over a limit by the one error that says so: a part never
 * looks like the whole.
 */
export function useQueryLimits(): Plugin<Context> {
  return {
    async onExecute({ args, setResultAndStopExecution }) {
      const { turn, limits } = args.contextValue;
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
          const refusal = limits.refusal ?? limits.refusalOf(result.data);
          if (refusal) setResult({ errors: [refusal] });
        },
      };
    },
  };
}
