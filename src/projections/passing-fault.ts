import { LogError } from '../log/event-log.ts';
import { isDatabaseFault } from './fault.ts';
import { ProjectionsBehind } from './wait-until.ts';

const DISK_FULL = new Set(['ENOSPC', 'EDQUOT']);

/** Returns whether an error passes without us: an outage, or read models that are behind. */
export function isPassingFault(error: unknown): boolean {
  return error instanceof ProjectionsBehind || isOutage(error);
}

/** Returns whether an error is an outage of the world: the database or the log is away, or a disk is full. */
export function isOutage(error: unknown): boolean {
  if (isDatabaseFault(error)) return true;
  if (error instanceof LogError) return error.retryable;
  // By its code, not its class: errors of Node's core come from another realm under a test runner.
  return typeof error === 'object' && error !== null && 'code' in error && DISK_FULL.has(String(error.code));
}
