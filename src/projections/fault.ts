import { isKeyTaken } from '../postgres/bulk.ts';
import { isLostStatement } from '../postgres/preparing.ts';
import { doubling, type RetryOptions } from '../runtime/retry.ts';

/** SQLSTATE classes and codes of faults of the world (not of the program): the same transaction may succeed later. */
// 25P03 and 25P04: a transaction that was silent, or open, for too long.
const TRANSIENT = [/^08/, /^25P0[34]$/, /^40001$/, /^40P01$/, /^53/, /^55P03$/, /^57/, /^58/];
const SOCKET = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH']);

/** Returns whether an error is a fault of the database's world: a lost connection, a restart, a deadlock, a full disk. */
export function isDatabaseFault(error: unknown): boolean {
  const { code, message, errors } = partsOf(error);
  if (errors.some(isDatabaseFault)) return true;
  if (SOCKET.has(code) || TRANSIENT.some((pattern) => pattern.test(code))) return true;
  return /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error/.test(message);
}

/**
 * Returns whether Postgres refused a value (class 22: a text, number or date it cannot hold; 54: too complex): one event is to
 * blame.
 */
export function isDataFault(error: unknown): boolean {
  return /^(22|54)/.test(partsOf(error).code);
}

/**
 * Returns whether slices that fail together by this are settled by folding them one by one: the world, one event, a key that
 * another transaction took or a session that lost its statements was to blame. Anything else would come again each time.
 */
export function isSettledAlone(error: unknown): boolean {
  return isDatabaseFault(error) || isDataFault(error) || isKeyTaken(error) || isLostStatement(partsOf(error).code);
}

/** Tries again what a fault of the database ended, or `others`, until the signal. @param onFault is called with each. */
export function whileDatabaseFaults(
  signal: AbortSignal,
  onFault: (error: unknown) => void = () => undefined,
  others: (error: unknown) => boolean = () => false,
): RetryOptions {
  return {
    signal,
    pauseMs: doubling(100, 5_000),
    again: ({ error }) => {
      if (!isDatabaseFault(error)) return others(error);
      onFault(error);
      return true;
    },
  };
}

/** Words an error in one line, the errors of an aggregate included. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ');
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

/** Reads an error by its parts, not its class: errors of Node's core come from another realm under a test runner. */
function partsOf(error: unknown): { readonly code: string; readonly message: string; readonly errors: readonly unknown[] } {
  if (typeof error !== 'object' || error === null) return { code: '', message: '', errors: [] };
  return {
    code: 'code' in error && typeof error.code === 'string' ? error.code : '',
    message: 'message' in error && typeof error.message === 'string' ? error.message : '',
    errors: 'errors' in error && Array.isArray(error.errors) ? error.errors : [],
  };
}
