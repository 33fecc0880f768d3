import type { Plugin } from 'graphql-yoga';
import { countDocument } from './count.ts';
import { overLimit } from './over-limit.ts';

/**
 * Refuses documents that select too many fields, each counted at every place where its fragment is spread, before they are
 * validated.
 */
export function useFieldLimit(limit: number): Plugin {
  return {
    onValidate({ params }) {
      const { fields } = countDocument(params.documentAST);
      if (fields > limit) throw overLimit('fields', fields, limit, 'select fewer fields, or split the query');
    },
  };
}
