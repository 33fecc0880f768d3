import type { Plugin } from 'graphql-yoga';
import { costOf } from './cost.ts';
import { overLimit } from './over-limit.ts';

/** Refuses operations that may read too much, with the values of their variables, before they are validated. */
export function useCostLimit(limit: number): Plugin {
  return {
    onValidate({ params, context }) {
      const { operationName = null, variables = {} } = context.params;
      const cost = costOf(params.schema, params.documentAST, operationName, variables ?? {});
      if (cost > limit)
        throw overLimit(
          'cost',
          cost,
          limit,
          'ask for fewer items (first, last) in the outer lists, or nest fewer lists in each other',
        );
    },
  };
}
