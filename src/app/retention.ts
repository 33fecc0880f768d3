import type { Platform } from '../platform/open-platform.ts';
import { tryOwnWork } from '../postgres/own-work.ts';
import { RebuildUnderWay } from '../projections/rebuild/hold-rebuild.ts';
import type { Running } from '../runtime/lifecycle.ts';
import type { Logger } from '../runtime/logger.ts';
import { rest } from '../runtime/retry.ts';
import { untilClosed } from '../runtime/until-closed.ts';
import { readRetention, retain } from '../usecases/forget/forget.ts';

const EVERY_MS = 86_400_000; // the unit of retention: read models are folded again once a day at most
const AGAIN_MS = 3_600_000;
const LOOK_MS = 60_000; // a round that failed waits an hour, and not the day
const LIMIT_MS = 300_000;

export interface RetentionTimes {
  /** Between two rounds; the first begins at once. */
  readonly everyMs?: number;
  readonly lookMs?: number;
}

/**
 * Forgets what is older than its project keeps it, at the start and once a day, in one process at a time. A round that fails is
 * logged, and the next one continues it.
 */
export function keepRetention(
  platform: Platform,
  logger: Logger,
  { everyMs = EVERY_MS, lookMs = LOOK_MS }: RetentionTimes = {},
): Running {
  return untilClosed(run);

  async function run(signal: AbortSignal): Promise<void> {
    let next = performance.now();
    while (!signal.aborted) {
      try {
        if (performance.now() >= next) {
          const { kind } = await tryOwnWork(platform.database.db, 'retention', () => round(signal));
          if (kind === 'done') next = performance.now() + everyMs; // else another process does it, and may die
        }
      } catch (error) {
        next = performance.now() + Math.min(everyMs, AGAIN_MS);
        if (!signal.aborted) logger.error('retention failed; it is continued within the hour', { error });
      }
      await rest(Math.min(lookMs, everyMs), signal);
    }
  }

  async function round(signal: AbortSignal): Promise<void> {
    const due = await readRetention(platform, Date.now());
    for (const { project, days, clear } of due)
      if (clear.length > 0)
        logger.warn('runs that are older than their project keeps them lie in the clear and cannot be forgotten', {
          project,
          days,
          runs: clear.length,
        });
    try {
      const done = await retain(platform, due, { signal, limitMs: LIMIT_MS, progress: () => undefined });
      if (done) logger.info('forgotten', { runs: done.plan.runs.length, keys: done.keys, blobs: done.blobs });
    } catch (error) {
      if (!(error instanceof RebuildUnderWay)) throw error;
      logger.info('another process folds read models again; retention looks again', { reason: error.message });
    }
  }
}
