import { getOperationAST } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { refusal } from './errors.ts';

/**
 * Refuses a mutation in any body but JSON: a form of another site's page can send the others without asking (CORS calls them
 * simple requests), and a browser then adds its cookie. By GET yoga itself refuses mutations.
 */
export function useJsonMutations(): Plugin {
  return {
    onExecute({ args, setResultAndStopExecution }) {
      const { document, operationName, contextValue } = args;
      if (getOperationAST(document, operationName)?.operation !== 'mutation') return;
      const { request } = contextValue as { readonly request: Request }; // yoga puts it there
      if (/^application\/(graphql\+)?json\s*(;|$)/i.test(request.headers.get('content-type') ?? '')) return;
      const message = 'a mutation comes by POST with the Content-Type application/json: send {"query": …, "variables": …}';
      setResultAndStopExecution({ errors: [refusal('BAD_USER_INPUT', message)] });
    },
  };
}
