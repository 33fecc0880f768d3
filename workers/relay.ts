import { openPlatform } from '../src/platform/open-platform.ts';
import { readConfig } from '../src/runtime/config.ts';
import { runUntilStopped } from '../src/runtime/lifecycle.ts';
import { createLogger } from '../src/runtime/logger.ts';
import { relay } from '../src/usecases/train/relay.ts';

/** Appends what was decided in Postgres to the log, and ends leases that ran out. Several may run; one sends at a time. */
await runUntilStopped(async () => {
  const config = readConfig();
  const logger = createLogger({ level: config.logLevel }).with({ worker: 'relay' });
  const platform = await openPlatform(config, 'relay');
  const running = await relay(platform, logger).catch(async (error: unknown) => {
    await platform.close();
    throw error;
  });
  logger.info('relaying', { log: platform.mode.log });
  return {
    finished: running.finished,
    async close() {
      await running.close();
      await platform.close();
    },
  };
});
