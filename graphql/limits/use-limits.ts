import { GraphQLError, Lexer, type ParseOptions, parse, Source, TokenKind } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { costOf } from './cost.ts';
import { countDocument } from './count.ts';
import type { Limits } from './limits.ts';

/**
 * Refuses documents that are over a limit: of characters before they are read, of tokens and nesting before they are parsed, of all
 * that they select before they are validated, each fragment counted at every place that spreads it.
 */
export function useLimits(limits: Limits): Plugin {
  return {
    onParams({ params }) {
      const size = typeof params.query === 'string' ? params.query.length : 0;
      check('characters', size, limits.documentSize, 'split the query, or put constants into variables');
    },
    onParse({ setParseFn }) {
      setParseFn((document: string | Source, options?: ParseOptions) => {
        checkTokens(typeof document === 'string' ? new Source(document) : document, limits);
        return parse(document, options);
      });
    },
    onValidate({ params: { schema, documentAST }, context: { params } }) {
      const { depth, aliases, fields } = countDocument(documentAST);
      check('depth', depth, limits.depth, 'nest fewer fields; continue with a second query from the ids of the first');
      check('aliases', aliases, limits.aliases, 'use a list field with a filter, or several queries');
      check('fields', fields, limits.fields, 'select fewer fields, or split the query');
      const cost = costOf(schema, documentAST, params.operationName ?? null, params.variables ?? {});
      const remedy = 'ask for fewer items (first, last) in the outer lists, or nest fewer lists in each other';
      check('cost', cost, limits.cost, remedy);
    },
  };
}

/** @throws LIMIT_EXCEEDED with the limit, what the document has, and the remedy. */
function check(name: string, actual: number, limit: number, remedy: string): void {
  if (actual <= limit) return;
  const shown = Number.isFinite(actual) && actual < 1e15 ? String(actual) : 'more than can be counted';
  throw exceeded(`the query has ${name} ${shown}, the limit is ${limit}; ${remedy}`, {
    limit: name,
    actual: shown,
    allowed: limit,
  });
}

function exceeded(message: string, extensions: object): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'LIMIT_EXCEEDED', ...extensions, http: { status: 400 } } });
}

const OPENING = new Set<TokenKind>([TokenKind.BRACE_L, TokenKind.BRACKET_L, TokenKind.PAREN_L]);
const CLOSING = new Set<TokenKind>([TokenKind.BRACE_R, TokenKind.BRACKET_R, TokenKind.PAREN_R]);

/**
 * Tokens also bound validation, which compares fields with fields; brackets open at once the stack of the parser, which calls itself
 * for each: 2,000 of them end it.
 */
function checkTokens(source: Source, { tokens, nesting }: Limits): void {
  const lexer = new Lexer(source);
  let open = 0;
  for (let seen = 0; lexer.advance().kind !== TokenKind.EOF; ) {
    if (++seen > tokens)
      // how many there are is not known: the rest is not read
      throw exceeded(`the query has more than ${tokens} tokens; split it, or put lists into variables`, {
        limit: 'tokens',
        allowed: tokens,
      });
    if (OPENING.has(lexer.token.kind)) open++;
    if (CLOSING.has(lexer.token.kind)) open--;
    check('nesting', open, nesting, 'put lists and objects into variables');
  }
}
