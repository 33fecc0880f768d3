import { AsOfError } from '../../src/projections/as-of/as-of-error.ts';
import { isCanceled, isDatabaseFault } from '../../src/projections/fault.ts';
import type { Logger } from '../../src/runtime/logger.ts';

/** Returns a refusal in the form of every endpoint: `{error: {code, message, remedy}}`. */
export function refusal(status: number, code: string, message: string, remedy: string, retryAfter?: number): Response {
  return new Response(`${JSON.stringify({ error: { code, message, remedy } })}\n`, {
    status,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      ...(retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }),
    },
  });
}

/** Answers what kept the read models from being read, and logs a fault. @param what was asked for: "a table". */
export function refusedReading(error: unknown, logger: Logger, what: string): Response {
  if (error instanceof AsOfError)
    return error.code === 'too-large'
      ? refusal(422, 'unprocessable', error.message, 'name a run, or an earlier moment')
      : refusal(400, 'invalid', `asOf: ${error.message}`, 'pass a position that this server gave');
  if (isCanceled(error)) return refusal(422, 'unprocessable', 'a statement took too long', 'narrow the filter, or name a run');
  if (isDatabaseFault(error)) {
    logger.error(`the database failed ${what}`, { error });
    return refusal(503, 'unavailable', 'the database does not answer as it should', 'ask again', 2);
  }
  logger.error(`${what} was not answered`, { error });
  return refusal(500, 'fault', 'this is a fault of the server; its log says more', 'report it with the time of the request');
}
