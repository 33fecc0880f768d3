import { isMainThread } from 'node:worker_threads';
import { createReadiness } from '../http/health.ts';
import { serveProbes } from '../http/probes.ts';
import { json } from '../http/reply.ts';
import { isUnreachable, openPlatform, type Platform } from '../platform/open-platform.ts';
import type { OnLogFaults } from '../platform/open-recorded-log.ts';
import type { Config } from '../runtime/config.ts';
import type { Running } from '../runtime/lifecycle.ts';
import type { Logger } from '../runtime/logger.ts';
import { createMetrics } from '../runtime/metrics.ts';
import { retryTransient } from '../runtime/retry-transient.ts';
import { warnSeldom } from '../runtime/warn-seldom.ts';

interface StartOptions {
  readonly config: Config;
  /** What its connections are called. */
  readonly name: string;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly onFaults?: OnLogFaults;
  /** What it does while Postgres or Kafka is unreachable; waits when left out. */
  readonly whileUnreachable?: 'wait' | 'fail';
}

/**
 * Opens a platform and starts what runs on it; `close` ends both. A server that starts during an outage waits, logged at
 * most once a minute, and serves when the outage is over. @throws what does not pass by itself; the last fault when the signal aborts.
 */
export async function startOnPlatform<Started extends Pick<Running, 'close'>>(
  { config, name, logger, signal, onFaults = 'refuse', whileUnreachable = 'wait' }: StartOptions,
  start: (platform: Platform) => Promise<Started>,
): Promise<{ readonly platform: Platform; readonly running: Started; close(): Promise<void> }> {
  const warn = warnSeldom(logger, 'the start waits for what is unreachable');
  let ready = async () => json(503, { ready: false, reasons: ['this process is starting'] });
  const metrics = createMetrics({ process: isMainThread, role: name });
  const { host, probePort: port } = config;
  const probes = port === null ? null : await serveProbes({ host, port, metrics }, () => ready());
  if (probes) logger.info('probes', { port: probes.port });
  return retryTransient(
    async () => {
      const platform = await openPlatform(config, name, { onFaults, metrics });
      const running = await start(platform).catch(async (error: unknown) => {
        await platform.close();
        throw error;
      });
      ready = createReadiness({ db: platform.database.db, log: platform.log });
      return {
        platform,
        running,
        async close() {
          await running.close();
          await platform.close();
          await probes?.close();
        },
      };
    },
    {
      signal,
      passes: (error) => whileUnreachable === 'wait' && isUnreachable(error),
      unlimited: isUnreachable,
      onFault: warn,
    },
  ).catch(async (error: unknown) => {
    await probes?.close();
    throw error;
  });
}
