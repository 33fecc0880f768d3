import { project } from '../src/app/project.ts';
import { keepRetention } from '../src/app/retention.ts';
import { openPlatform } from '../src/platform/open-platform.ts';
import { readConfig } from '../src/runtime/config.ts';
import { runUntilStopped } from '../src/runtime/lifecycle.ts';
import { createLogger } from '../src/runtime/logger.ts';

/**
 * Folds the log into the read models. Several share the partitions as one consumer group; one that dies is taken over. What is
 * older than its project keeps it is forgotten.
 */
await runUntilStopped(async () => {
  const config = readConfig();
  const logger = createLogger({ level: config.logLevel }).with({ worker: 'project' });
  const platform = await openPlatform(config, 'project');
  const subscription = await project(platform, logger).catch(async (error: unknown) => {
    await platform.close();
    throw error;
  });
  const retaining = keepRetention(platform, logger);
  logger.info('projecting', { log: platform.mode.log });
  return {
    finished: subscription.finished,
    async close() {
      await retaining.close();
      await subscription.close();
      await platform.close();
    },
  };
});
