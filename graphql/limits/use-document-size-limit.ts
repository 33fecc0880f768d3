import type { Plugin } from 'graphql-yoga';
import { overLimit } from './over-limit.ts';

/** Refuses documents of too many characters before they are read. */
export function useDocumentSizeLimit(limit: number): Plugin {
  return {
    onParams({ params }) {
      const size = typeof params.query === 'string' ? params.query.length : 0;
      if (size > limit) throw overLimit('characters', size, limit, 'split the query, or put constants into variables');
    },
  };
}
