import type { ExecutionArgs } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import type { Context } from '../context.ts';
import { executeQuery } from './execute-query.ts';

/** Executes queries by `executeQuery`; what it leaves, as before. */
export function useQueryExecution(): Plugin<Context> {
  return {
    onExecute({ executeFn, setExecuteFn }) {
      setExecuteFn((args: ExecutionArgs) => executeQuery(args, executeFn));
    },
  };
}
