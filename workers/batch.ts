import { openPlatform } from '../src/platform/open-platform.ts';
import { readConfig } from '../src/runtime/config.ts';
import { runUntilStopped } from '../src/runtime/lifecycle.ts';
import { createLogger } from '../src/runtime/logger.ts';
import { batch } from '../src/usecases/train/batch.ts';

/** Plans training batches. Any number may run: each policy has one planner at a time, and one that dies is taken over. */
await runUntilStopped(async () => {
  const config = readConfig();
  const logger = createLogger({ level: config.logLevel }).with({ worker: 'batch' });
  const platform = await openPlatform(config, 'batch');
  const batcher = await batch(platform, logger).catch(async (error: unknown) => {
    await platform.close();
    throw error;
  });
  logger.info('batching', { log: platform.mode.log });
  return {
    finished: batcher.finished,
    async close() {
      await batcher.close();
      await platform.close();
    },
  };
});
