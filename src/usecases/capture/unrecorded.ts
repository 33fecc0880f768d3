import type { Logger } from '../../runtime/logger.ts';
import type { Metrics } from '../../runtime/metrics.ts';

/**
 * Why a call is passed on without a record, or without a part of it: the log does not take it now, no record takes its answer, its
 * path is not one of those that are recorded, or a part of it could not be read, which the attributes of the call name.
 */
export type UnrecordedReason = 'not-appended' | 'refused' | 'path' | 'unread';
export type CountUnrecorded = (reason: UnrecordedReason, detail: string) => void;

/** Returns what counts the calls that are passed on without a whole record, and logs the first of each reason. */
export function countUnrecorded(metrics: Metrics, logger: Logger): CountUnrecorded {
  const total = metrics.counter('proxy_unrecorded_total', 'Calls that the proxy passed on without a whole record', ['reason']);
  const logged = new Set<UnrecordedReason>();
  return (reason, detail) => {
    total.add(1, { reason });
    if (logged.has(reason)) return;
    logged.add(reason);
    logger.warn('calls are passed on without a whole record; /metrics counts them, and this is logged once', { reason, detail });
  };
}
