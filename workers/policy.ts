import { servePolicy } from '../src/app/serve-policy.ts';
import { openPlatform } from '../src/platform/open-platform.ts';
import { readConfig } from '../src/runtime/config.ts';
import { runUntilStopped } from '../src/runtime/lifecycle.ts';
import { createLogger } from '../src/runtime/logger.ts';

/**
 * Serves a policy that chooses among actions as an OpenAI-compatible model server: `workers/policy.ts linear:FILE` or
 * `live:POLICY`.
 */
await runUntilStopped(async (signal) => {
  const config = readConfig();
  const logger = createLogger({ level: config.logLevel }).with({ worker: 'policy' });
  const platform = await openPlatform(config, 'policy');
  const server = await servePolicy(platform, process.argv[2], logger, signal).catch(async (error: unknown) => {
    await platform.close();
    throw error;
  });
  logger.info('serving', { url: `${server.url}/v1`, model: server.model });
  return {
    finished: new Promise(() => undefined),
    async close() {
      await server.close();
      await platform.close();
    },
  };
});
