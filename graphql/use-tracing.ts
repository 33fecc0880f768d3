import { getOperationAST } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { inSpan } from '../src/runtime/tracing.ts';

/** Executes each operation in a span of its own, which says its name and kind and nothing of its variables. */
export function useTracing(): Plugin {
  return {
    onExecute({ args, executeFn, setExecuteFn }) {
      const operation = getOperationAST(args.document, args.operationName);
      const kind = operation?.operation ?? 'query';
      const name = operation?.name?.value;
      const attributes = { 'graphql.operation.type': kind, ...(name ? { 'graphql.operation.name': name } : {}) };
      setExecuteFn((given) =>
        inSpan(name ? `${kind} ${name}` : kind, { attributes }, async (span) => {
          const result = await executeFn(given);
          const errors = 'errors' in Object(result) ? (result as { errors?: readonly unknown[] }).errors : undefined;
          if (errors) span.set({ 'graphql.errors': errors.length });
          return result;
        }),
      );
    },
  };
}
