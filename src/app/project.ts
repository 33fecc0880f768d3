import type { Subscription } from '../log/event-log.ts';
import type { Platform } from '../platform/open-platform.ts';
import { type RunnerReport, runProjections } from '../projections/runner.ts';
import type { Running } from '../runtime/lifecycle.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Metrics } from '../runtime/metrics.ts';
import { rest } from '../runtime/retry.ts';
import { untilClosed } from '../runtime/until-closed.ts';
import { warnSeldom } from '../runtime/warn-seldom.ts';
import { closeLeft, type LeftWorld } from '../usecases/collect/close-left.ts';
import { keepRetention } from './retention.ts';

/** Runs the projections in this process, and says once what stops, is set aside or waits. */
export async function project({ log, database, metrics }: Platform, logger: Logger): Promise<Subscription> {
  const measure = measureReports(metrics);
  return runProjections({
    log,
    database,
    report(event) {
      measure(event);
      logReport(logger, event);
    },
  });
}

/** Runs the projections, ends what all their programs have left, and forgets what is older than its project keeps it. */
export async function keepProjected(platform: Platform, logger: Logger): Promise<Running> {
  const subscription = await project(platform, logger);
  const retention = keepRetention(platform, logger);
  const closing = keepClosed(platform, logger);
  return {
    finished: subscription.finished,
    async close() {
      await closing.close();
      await retention.close();
      await subscription.close();
    },
  };
}

const SECONDS = [0.005, 0.025, 0.1, 0.25, 1, 5, 30];

/** Returns what counts the reports of the projections of this process. */
function measureReports(metrics: Metrics): (event: RunnerReport) => void {
  const folded = metrics.counter('projection_folded_records_total', 'Records that this process folded', ['topic']);
  const seconds = metrics.histogram('projection_fold_seconds', 'Time to fold the slice that a part of a topic was in', SECONDS);
  const quarantined = metrics.counter('projection_quarantined_total', 'Events that this process quarantined', ['projection']);
  const retries = metrics.counter('projection_retries_total', 'Times that projections waited for database or log');
  return (event) => {
    if (event.kind === 'projected') {
      folded.add(event.events, { topic: event.topic });
      seconds.observe(event.milliseconds / 1_000, {});
    }
    if (event.kind === 'quarantined') quarantined.add(event.count, { projection: event.projection });
    if (event.kind === 'retrying') retries.add(1, {});
  };
}

/** Logs what stops, is set aside or waits. */
function logReport(logger: Logger, { kind, ...fields }: RunnerReport): void {
  if (kind === 'stopped') logger.error('projection stopped', fields);
  if (kind === 'quarantined') logger.warn('events quarantined; `espalier quarantine list` says why', fields);
  if (kind === 'retrying') logger.warn('projections wait for the database', fields);
}

const EVERY_MS = 1_000;

/** Closes groups and ends runs that all their programs have left, a second after it is on record. */
function keepClosed(world: LeftWorld, logger: Logger): Running {
  return untilClosed(async (signal) => {
    const warn = warnSeldom(logger, 'runs that all have left wait to be ended');
    while (!signal.aborted) {
      await rest(EVERY_MS, signal);
      if (signal.aborted) return;
      try {
        await closeLeft(world, signal);
      } catch (error) {
        if (!signal.aborted) warn(error);
      }
    }
  });
}
