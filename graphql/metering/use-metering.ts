import { defaultFieldResolver, GraphQLError, type GraphQLFieldResolver } from 'graphql';
import { isAsyncIterable, type Plugin } from 'graphql-yoga';
import type { Context } from '../context.ts';

/**
 * Lets a query begin when it is its turn, counts the fields that it resolves, and replaces an answer that is over a budget by the
 * one error that says so: a part never looks like the whole.
 */
export function useMetering(): Plugin<Context> {
  return {
    async onExecute({ args, setResultAndStopExecution }) {
      const { place, meter } = args.contextValue;
      args.fieldResolver = counted;
      try {
        await place.take();
      } catch (error) {
        if (!(error instanceof GraphQLError)) throw error;
        return void setResultAndStopExecution({ errors: [error] });
      }
      return {
        onExecuteDone({ result, setResult }) {
          place.leave();
          if (isAsyncIterable(result)) return;
          meter.answer(result.data);
          meter.end(place.seconds);
          if (meter.refusal) setResult({ errors: [meter.refusal] });
        },
      };
    },
  };
}

const counted: GraphQLFieldResolver<unknown, Context> = (source, args, context, info) => {
  context.meter.field();
  return defaultFieldResolver(source, args, context, info);
};
