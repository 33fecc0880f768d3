import { randomUUID } from 'node:crypto';
import { GraphQLError } from 'graphql';
import { isDatabaseFault } from '../src/projections/fault.ts';
import type { Logger } from '../src/runtime/logger.ts';

/**
 * Decides what a caller sees of an error. What was made for the caller passes; a fault of the database is said as such, to be tried again;
 * anything else is a bug, of which the caller sees an id and the server's log, under the same id, everything.
 */
export function createMaskError(logger: Logger): (error: unknown) => Error {
  return (error) => {
    if (error instanceof GraphQLError && isForCaller(error)) return error;
    const original = error instanceof GraphQLError ? error.originalError : error;
    const errorId = randomUUID();
    logger.error('graphql: a query failed', { errorId, error: original });
    const fault = isDatabaseFault(original);
    const message = fault
      ? 'the database does not answer; try again in a moment'
      : 'the server failed on this query; its log has the cause under the errorId';
    const code = fault ? 'UNAVAILABLE' : 'INTERNAL_SERVER_ERROR';
    const place = error instanceof GraphQLError ? { nodes: error.nodes ?? null, path: error.path ?? null } : {};
    return new GraphQLError(message, { ...place, extensions: { code, errorId } });
  };
}

/** Errors of syntax, validation and variables, and refusals, have no error beneath that is not a GraphQLError itself. */
function isForCaller({ originalError }: GraphQLError): boolean {
  if (originalError === undefined || originalError === null) return true;
  return originalError instanceof GraphQLError && isForCaller(originalError);
}
