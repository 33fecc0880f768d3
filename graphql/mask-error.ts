import { randomUUID } from 'node:crypto';
import { GraphQLError } from 'graphql';
import { cutText } from '../src/domain/text/cut-text.ts';
import { isCanceled, isDatabaseFault } from '../src/projections/fault.ts';
import type { Logger } from '../src/runtime/logger.ts';
import type { ErrorCode } from './errors.ts';

/**
 * Decides what a caller sees of an error. What was made for the caller passes; a fault of the database is said as such, to be
 * tried again; anything else is a bug, of which the caller sees an id and the server's log, under the same id, everything.
 */
export function createMaskError(logger: Logger): (error: unknown) => Error {
  return (error) => {
    if (error instanceof GraphQLError && isForCaller(error)) return shortened(coded(error));
    const original = error instanceof GraphQLError ? error.originalError : error;
    if (isCanceled(original))
      return new GraphQLError(TOO_LONG, { ...placeOf(error), extensions: { code: 'LIMIT_EXCEEDED', limit: 'statement' } });
    const errorId = randomUUID();
    logger.error('graphql: a query failed', { errorId, error: original });
    const fault = isDatabaseFault(original);
    const message = fault
      ? 'the database does not answer; try again in a moment'
      : 'the server failed on this query; its log has the cause under the errorId';
    const code = fault ? 'UNAVAILABLE' : 'INTERNAL_SERVER_ERROR';
    return new GraphQLError(message, { ...placeOf(error), extensions: { code, errorId } });
  };
}

const TOO_LONG = 'a statement took too long; narrow the filter, leave out totals and counts, or read one tree or run at a time';

function placeOf(error: unknown) {
  return error instanceof GraphQLError ? { nodes: error.nodes ?? null, path: error.path ?? null } : {};
}

/** Errors of syntax, validation and variables, and refusals, have no error beneath that is not a GraphQLError itself. */
function isForCaller({ originalError }: GraphQLError): boolean {
  if (originalError === undefined || originalError === null) return true;
  return originalError instanceof GraphQLError && isForCaller(originalError);
}

/** What an executor says of arguments has no code of its own. */
function coded(error: GraphQLError): GraphQLError {
  if (error.extensions.code === undefined) error.extensions.code = 'BAD_USER_INPUT' satisfies ErrorCode;
  return error;
}

const LONGEST = 2_000; // characters

/**
 * What the caller sent may stand in what is said of it (a parser quotes its whole text): a refusal is not as long as the request.
 */
function shortened(error: GraphQLError): GraphQLError {
  const { message, nodes = null, source = null, positions = null, path = null } = error;
  const { originalError, ...extensions } = error.extensions;
  const long = [message, ...Object.values(error.extensions).map((value) => JSON.stringify(value) ?? '')].some(
    (text) => text.length > LONGEST,
  );
  if (!long) return error;
  const reason =
    typeof originalError === 'object' && originalError !== null && 'message' in originalError ? originalError.message : undefined;
  const shown = reason === undefined ? {} : { reason: cutText(String(reason), LONGEST) };
  return new GraphQLError(cutText(message, LONGEST), { nodes, source, positions, path, extensions: { ...extensions, ...shown } });
}
