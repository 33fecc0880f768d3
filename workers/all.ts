import { runAll } from '../src/app/run-all.ts';
import { openPlatform } from '../src/platform/open-platform.ts';
import { readConfig } from '../src/runtime/config.ts';
import { runUntilStopped } from '../src/runtime/lifecycle.ts';
import { createLogger } from '../src/runtime/logger.ts';

/** Everything that waits for work, in one process: projections and API. */
await runUntilStopped(async () => {
  const config = readConfig();
  const logger = createLogger({ level: config.logLevel }).with({ worker: 'all' });
  const platform = await openPlatform(config, 'all');
  const all = await runAll(platform, logger).catch(async (error: unknown) => {
    await platform.close();
    throw error;
  });
  logger.info('serving and projecting', { url: all.url, ...platform.mode });
  return {
    finished: all.finished,
    async close() {
      await all.close();
      await platform.close();
    },
  };
});
