import { serveApi } from '../src/app/serve-api.ts';
import { openPlatform } from '../src/platform/open-platform.ts';
import { readConfig } from '../src/runtime/config.ts';
import { runUntilStopped } from '../src/runtime/lifecycle.ts';
import { createLogger } from '../src/runtime/logger.ts';

/** Serves GraphQL, ingest, health and metrics. Any number may run behind one address. */
await runUntilStopped(async () => {
  const config = readConfig();
  const logger = createLogger({ level: config.logLevel }).with({ worker: 'api' });
  const platform = await openPlatform(config, 'api');
  const server = await serveApi(platform, logger).catch(async (error: unknown) => {
    await platform.close();
    throw error;
  });
  logger.info('serving', { url: server.url });
  return {
    finished: new Promise(() => undefined),
    async close() {
      await server.close();
      await platform.close();
    },
  };
});
