import type { Plugin } from 'graphql-yoga';
import type { Context } from '../context.ts';

/** Returns, when a request has been answered, the moments of the record that it looked at. */
export function useMoments(): Plugin<Context> {
  return {
    onExecute({ args }) {
      const { moments } = args.contextValue;
      return { onExecuteDone: () => moments.end() };
    },
  };
}
