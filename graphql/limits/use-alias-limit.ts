import type { Plugin } from 'graphql-yoga';
import { countDocument } from './count.ts';
import { overLimit } from './over-limit.ts';

/**
 * Refuses documents with too many aliases, each counted at every place where its fragment is spread, before they are validated.
 */
export function useAliasLimit(limit: number): Plugin {
  return {
    onValidate({ params }) {
      const { aliases } = countDocument(params.documentAST);
      if (aliases > limit) throw overLimit('aliases', aliases, limit, 'use a list field with a filter, or several queries');
    },
  };
}
