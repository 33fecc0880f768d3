import { doubling, type RetryOptions } from '../runtime/retry.ts';

/** SQLSTATE classes and codes of faults of the world (not of the program): the same transaction may succeed later. */
// 25P03 and 25P04: a transaction that was silent, or open, for too long.
const TRANSIENT = [/^08/, /^25P0[34]$/, /^40001$/, /^40P01$/, /^53/, /^55P03$/, /^57/, /^58/];
// A pooler answers an outage of Postgres by 08P01, and older ones a login that they refuse.
const REFUSED_LOGIN =
  /authentication failed|no such (user|database)|not allowed|does not exist|pg_hba|SSL required|unsupported startup parameter/i;
const SOCKET = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH']);

/** Returns whether an error is a fault of the database's world: a lost connection, a restart, a deadlock, a full disk. */
export function isDatabaseFault(error: unknown): boolean {
  const { code, message, errors } = partsOf(error);
  if (errors.some(isDatabaseFault)) return true;
  if (code === '08P01' && REFUSED_LOGIN.test(message)) return false;
  if (SOCKET.has(code) || TRANSIENT.some((pattern) => pattern.test(code))) return true;
  return /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error/.test(message);
}

/** Returns whether Postgres ended a statement that took longer than its connection allows. */
export function isCanceled(error: unknown): boolean {
  return partsOf(error).code === '57014';
}

/** A fold threw: one of the events that it was offered may be to blame. */
export class FoldFailed extends Error {
  override readonly name = 'FoldFailed';
  constructor(cause: unknown) {
    super(`the fold failed: ${reasonOf(cause)}`, { cause });
  }
}

/** Returns whether an event may be to blame: its fold threw, or Postgres refused a value (class 22), a constraint (23), a size (54). */
export function isRejectedByPostgres(error: unknown): boolean {
  return error instanceof FoldFailed || /^(22|23|54)/.test(partsOf(error).code);
}

/** Returns whether an error has a code of Postgres. */
export function isPostgresError(error: unknown): boolean {
  return /^[0-9A-Z]{5}$/.test(partsOf(error).code);
}

/** Tries again what a fault of the database ended, until the signal. @param onFault is called with each. */
export function whileDatabaseFaults(signal: AbortSignal, onFault: (error: unknown) => void = () => undefined): RetryOptions {
  return {
    signal,
    pauseMs: doubling(100, 5_000),
    again: ({ error }) => {
      if (!isDatabaseFault(error)) return false;
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
