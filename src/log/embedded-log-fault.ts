import { LogError } from './event-log.ts';

// SQLSTATE classes that pass: connection, rolled back by Postgres (deadlock), out of resources, stopped by an operator, system
// error.
const PASSING = ['08', '40', '53', '57', '58'];

/**
 * Describes as an error of the log what an operation on Postgres threw. `retryable` when a new connection or a later try may heal
 * it.
 */
export function logFault(what: string, error: unknown): LogError {
  // Not by instanceof: errors of node:net come from another realm when the caller runs in a vm context, as under jest.
  if (error instanceof LogError) return error;
  const { code, name, message = String(error) } = (error ?? {}) as { code?: string; name?: string; message?: string }; // of pg or of node:net
  if (code === undefined && (name === 'TypeError' || name === 'RangeError'))
    return new LogError('fatal', `${what}: ${message}`, { cause: error }); // of the program
  // Each has a digit: EPIPE, a broken connection, is of Node.
  const sqlState = code !== undefined && /^(?=.*[0-9])[0-9A-Z]{5}$/.test(code) ? code : undefined;
  if (sqlState === undefined || PASSING.includes(sqlState.slice(0, 2))) {
    return new LogError('unreachable', `${what}: Postgres cannot be reached (${message || code})`, {
      retryable: true,
      cause: error,
    });
  }
  return new LogError('fatal', `${what}: Postgres refused it (${sqlState} ${message})`, { cause: error });
}
