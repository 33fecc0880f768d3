import { type ParseOptions, parse, type Source } from 'graphql';
import type { Plugin } from 'graphql-yoga';
import { measure } from './cost.ts';
import { limitExceeded } from './limit-exceeded.ts';
import type { Limits } from './limits.ts';

/** Refuses documents that are over a limit before they are validated, of tokens before they are parsed. */
export function useLimits({ tokens, depth, aliases, cost }: Limits): Plugin {
  return {
    onParse({ setParseFn }) {
      setParseFn((document: string | Source, options?: ParseOptions) => {
        try {
          return parse(document, { ...options, maxTokens: tokens });
        } catch (error) {
          if (!(error instanceof RangeError)) throw error; // the parser calls itself for each bracket
          throw limitExceeded({
            limit: 'nesting',
            actual: 'too deep',
            allowed: tokens,
            remedy: 'put lists and objects into variables',
          });
        }
      });
    },
    onValidate({ params: { schema, documentAST }, context: { params } }) {
      const asked = measure(schema, documentAST, params.operationName ?? null, params.variables ?? {});
      check('depth', asked.depth, depth, 'nest fewer fields; continue with a second query from the ids of the first');
      check('aliases', asked.aliases, aliases, 'use a list field with a filter, or several queries');
      const remedy = 'ask for fewer items (first, last) in the outer lists, or nest fewer lists in each other';
      check('cost', asked.cost, cost, `most of it is ${asked.dearest.path.join('.')}: ${remedy}`);
    },
  };
}

/** @throws LIMIT_EXCEEDED with the limit, what the document has, and the remedy. */
function check(limit: string, actual: number, allowed: number, remedy: string): void {
  if (actual <= allowed) return;
  const shown = Number.isFinite(actual) && actual < 1e15 ? actual : 'more than can be counted';
  throw limitExceeded({ limit, actual: shown, allowed, remedy });
}
