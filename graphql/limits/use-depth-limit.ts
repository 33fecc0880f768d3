import type { Plugin } from 'graphql-yoga';
import { countDocument } from './count.ts';
import { overLimit } from './over-limit.ts';

/** Refuses documents that nest too many fields, before they are validated. */
export function useDepthLimit(limit: number): Plugin {
  return {
    onValidate({ params }) {
      const { depth } = countDocument(params.documentAST);
      if (depth > limit)
        throw overLimit('depth', depth, limit, 'nest fewer fields; continue with a second query from the ids of the first');
    },
  };
}
