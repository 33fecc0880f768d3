import type { Running } from '../runtime/lifecycle.ts';
import type { Logger } from '../runtime/logger.ts';
import { rest } from '../runtime/retry.ts';
import { untilClosed } from '../runtime/until-closed.ts';
import { warnSeldom } from '../runtime/warn-seldom.ts';
import { closeLeft, type LeftWorld } from '../usecases/collect/close-left.ts';

const EVERY_MS = 1_000;

/** Closes groups and ends runs that all their programs have left, a second after it is on record. */
export function keepClosed(world: LeftWorld, logger: Logger): Running {
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
