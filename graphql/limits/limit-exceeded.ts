import { GraphQLError } from 'graphql';

/** A limit that does not allow more: its name, what is asked of what is allowed, the remedy. */
export interface ExceededLimit {
  readonly limit: string;
  readonly actual: number | string;
  readonly allowed: number;
  readonly remedy: string;
  /** After how many seconds the same may be asked again; left out where waiting changes nothing. */
  readonly retryAfter?: number;
}

/** Makes the error of a limit: 400 where the query has to change, 429 where it may come again. */
export function limitExceeded({ limit, actual, allowed, remedy, retryAfter }: ExceededLimit): GraphQLError {
  const http = retryAfter === undefined ? { status: 400 } : { status: 429, headers: { 'retry-after': String(retryAfter) } };
  return new GraphQLError(`the limit "${limit}" is ${allowed}, and this is ${actual}; ${remedy}`, {
    extensions: { code: 'LIMIT_EXCEEDED', limit, actual: String(actual), allowed, http },
  });
}
