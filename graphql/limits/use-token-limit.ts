import { GraphQLError, Lexer, type ParseOptions, parse, Source, TokenKind } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { overLimit } from './over-limit.ts';

const OPENING = new Set<TokenKind>([TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L]);
const CLOSING = new Set<TokenKind>([TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R]);

/**
 * Refuses documents of too many tokens, or with too many brackets open at once, before they are parsed. The first also bounds
 * validation, which compares fields with fields; the second the stack of the parser, which calls itself for every bracket: 2,000
 * of them end it.
 */
export function useTokenLimit(tokens: number, nesting: number): Plugin {
  return {
    onParse({ setParseFn }) {
      setParseFn((document: string | Source, options?: ParseOptions) => {
        measure(typeof document === 'string' ? new Source(document) : document, tokens, nesting);
        return parse(document, options);
      });
    },
  };
}

function measure(source: Source, tokens: number, nesting: number): void {
  const lexer = new Lexer(source);
  let open = 0;
  for (let seen = 0; lexer.advance().kind !== TokenKind.EOF; ) {
    if (++seen > tokens) throw tooManyTokens(tokens);
    if (OPENING.has(lexer.token.kind)) open++;
    if (CLOSING.has(lexer.token.kind)) open--;
    if (open > nesting) throw overLimit('nesting', open, nesting, 'put lists and objects into variables');
  }
}

/** How many there are is not known: the rest is not read. */
function tooManyTokens(limit: number): GraphQLError {
  return new GraphQLError(`the query has more than ${limit} tokens; split it, or put lists into variables`, {
    extensions: { code: 'LIMIT_EXCEEDED', limit: 'tokens', allowed: limit, http: { status: 400 } },
  });
}
