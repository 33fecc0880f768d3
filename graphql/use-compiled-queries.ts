import { type DocumentNode, getOperationAST, getVariableValues, valueFromASTUntyped } from 'graphql';
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit';
import type { Plugin } from 'graphql-yoga';

type Execute = CompiledQuery['query'];

/**
 * Executes queries and mutations as functions that graphql-jit compiles, once for each operation of a document as long as the
 * document is kept. A field without a resolver is the property of its record as it is, never a function or a promise. Variables
 * are checked by graphql-js before: graphql-jit says less of what is wrong, and takes a default of a non-null variable for a
 * missing value.
 */
export function useCompiledQueries(): Plugin {
  const compiled = new WeakMap<DocumentNode, Map<string | null | undefined, Execute>>();
  return {
    onExecute({ args: { schema, document, operationName, variableValues }, setExecuteFn, setResultAndStopExecution }) {
      const definitions = getOperationAST(document, operationName)?.variableDefinitions ?? [];
      const { errors } = getVariableValues(schema, definitions, variableValues ?? {});
      if (errors) return setResultAndStopExecution({ errors });
      const defaults = definitions.flatMap(({ variable, defaultValue }) =>
        defaultValue ? [[variable.name.value, valueFromASTUntyped(defaultValue)]] : [],
      );
      const variables = { ...Object.fromEntries(defaults), ...variableValues };

      const ofDocument = compiled.get(document) ?? new Map<string | null | undefined, Execute>();
      compiled.set(document, ofDocument);
      const execute = ofDocument.get(operationName) ?? compile();
      ofDocument.set(operationName, execute);
      setExecuteFn(({ rootValue, contextValue }) => execute(rootValue, contextValue, variables));

      function compile(): Execute {
        const query = compileQuery(schema, document, operationName ?? undefined);
        return isCompiledQuery(query) ? query.query : () => query; // the errors of an operation that is not there
      }
    },
  };
}
