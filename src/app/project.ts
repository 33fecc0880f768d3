import type { Subscription } from '../log/event-log.ts';
import type { Platform } from '../platform/open-platform.ts';
import { type RunnerReport, runProjections } from '../projections/runner.ts';
import type { Running } from '../runtime/lifecycle.ts';
import type { Logger } from '../runtime/logger.ts';
import { rest } from '../runtime/retry.ts';
import { untilClosed } from '../runtime/until-closed.ts';
import { warnSeldom } from '../runtime/warn-seldom.ts';
import { closeLeft, type LeftWorld } from '../usecases/collect/close-left.ts';
import { keepRetention } from './retention.ts';

/** Runs the projections in this process, and says once what stops, is set aside or waits. */
export async function project({ log, database }: Platform, logger: Logger): Promise<Subscription> {
  return runProjections({ log, database, report: (event) => logReport(logger, event) });
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
