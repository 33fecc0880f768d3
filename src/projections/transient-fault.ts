import { ObjectsUnreachable } from '../blobs/object-store.ts';
import { LogError } from '../log/event-log.ts';
import { isDatabaseFault } from './fault.ts';
import { ProjectionsBehind } from './wait-until.ts';

const DISK_FULL = new Set(['ENOSPC', 'EDQUOT']);

/** Returns whether an error passes without us: an outage, a statement that the database gave up, read models that are behind. */
export function isTransientFault(error: unknown): boolean {
  return error instanceof ProjectionsBehind || isDatabaseFault(error) || isOutage(error);
}

// A statement that takes longer than its time limit, or more memory than there is: nothing is away, and it may fail each time.
const MAY_STAY = new Set(['57014', '53200']);

/** Returns whether an error is an outage of the world: the database, the log or the bucket is away, or a disk is full. */
export function isOutage(error: unknown): boolean {
  if (isDatabaseFault(error)) return !MAY_STAY.has(codeOf(error));
  if (error instanceof LogError) return error.retryable;
  if (error instanceof ObjectsUnreachable) return true;
  // By its code, not its class: errors of Node's core come from another realm under a test runner.
  return DISK_FULL.has(codeOf(error));
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}
