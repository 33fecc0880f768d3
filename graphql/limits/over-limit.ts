import { GraphQLError } from 'graphql';

/** Makes the error of a limit that a document exceeds: the limit, what the document has, the remedy. */
export function overLimit(name: string, actual: number, limit: number, remedy: string): GraphQLError {
  const shown = Number.isFinite(actual) && actual < 1e15 ? String(actual) : 'more than can be counted';
  return new GraphQLError(`the query has ${name} ${shown}, the limit is ${limit}; ${remedy}`, {
    extensions: { code: 'LIMIT_EXCEEDED', limit: name, actual: shown, allowed: limit, http: { status: 400 } },
  });
}
