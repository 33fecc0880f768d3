import type { Logger } from '../../runtime/logger.ts';
import type { Metrics } from '../../runtime/metrics.ts';

/**
 * Why a call is passed on without a record: the log does not take it now, no record takes its answer, or its path is not one of
 * those that are recorded.
 */
export type UnrecordedReason = 'not-appended' | 'refused' | 'path';
export type CountUnrecorded = (reason: UnrecordedReason, detail: string) => void;

/** Returns what counts the calls that are passed on without a record, and logs the first of each reason. */
export function countUnrecorded(metrics: Metrics, logger: Logger): CountUnrecorded {
  const total = metrics.counter('proxy_unrecorded_total', 'Calls that the proxy passed on without a record', ['reason']);
  const logged = new Set<UnrecordedReason>();
  return (reason, detail) => {
    total.add(1, { reason });
    if (logged.has(reason)) return;
    logged.add(reason);
    logger.warn('calls are passed on without a record; /metrics counts them, and this is logged once', { reason, detail });
  };
}
