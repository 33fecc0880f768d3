import { LogError } from '../log/event-log.ts';
import { isDatabaseFault } from './fault.ts';
import { ProjectionsBehind } from './wait-until.ts';

const DISK_FULL = new Set(['ENOSPC', 'EDQUOT']);

/**
 * Recognises a fault of the world that passes without us: the database or the log is away, a disk is full, or the read models are
 * behind.
 */
export function isPassingFault(error: unknown): boolean {
  if (error instanceof ProjectionsBehind || isDatabaseFault(error)) return true;
  if (error instanceof LogError) return error.retryable;
  // By its code, not its class: errors of Node's core come from another realm under a test runner.
  return typeof error === 'object' && error !== null && 'code' in error && DISK_FULL.has(String(error.code));
}
