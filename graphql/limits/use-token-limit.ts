import { GraphQLError, type ParseOptions, parse } from 'graphql';
import type { Plugin } from 'graphql-yoga';

/** Stops parsing at too many tokens. It also bounds validation, which compares fields with fields. */
export function useTokenLimit(limit: number): Plugin {
  return {
    onParse({ setParseFn }) {
      setParseFn((source: Parameters<typeof parse>[0], options?: ParseOptions) => {
        try {
          return parse(source, { ...options, maxTokens: limit });
        } catch (error) {
          if (!(error instanceof GraphQLError) || !error.message.includes('tokens')) throw error;
          throw new GraphQLError(`the query has more than ${limit} tokens; split it, or put lists into variables`, {
            extensions: { code: 'LIMIT_EXCEEDED', limit: 'tokens', allowed: limit, http: { status: 400 } },
          });
        }
      });
    },
  };
}
