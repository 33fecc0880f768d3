import { setTimeout as delay } from 'node:timers/promises';
import type { Platform } from '../platform/open-platform.ts';
import type { Logger } from '../runtime/logger.ts';
import { warnSeldom } from '../runtime/warn-seldom.ts';
import type { Capture } from '../usecases/capture/open-capture.ts';
import { openTraces, QUIET } from '../usecases/capture/traces/receive-spans.ts';

const EVERY_MS = 2_000;

/** Places the spans of traces that wait, time and again, until it is ended. */
export function placeTraces({ database }: Platform, capture: Capture, logger: Logger): { end(): Promise<void> } {
  const ending = new AbortController();
  const warn = warnSeldom(logger, 'spans of traces wait to be placed');
  const traces = openTraces({ db: database.db, capture });
  const done = (async () => {
    while (!ending.signal.aborted) {
      await delay(EVERY_MS, undefined, { signal: ending.signal }).catch(() => undefined);
      if (ending.signal.aborted) return;
      try {
        for (const refused of await traces.place(QUIET)) logger.warn(refused);
      } catch (error) {
        warn(error);
      }
    }
  })();
  return {
    async end() {
      ending.abort();
      await done;
    },
  };
}
