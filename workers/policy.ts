import { servePolicy } from '../src/app/serve-policy.ts';
import { startOnPlatform } from '../src/app/start-on-platform.ts';
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
  const { running: server, close } = await startOnPlatform({ config, name: 'policy', logger, signal }, (platform) =>
    servePolicy(platform, process.argv[2], logger, signal),
  );
  logger.info('serving', { url: `${server.url}/v1`, model: server.model });
  return { finished: new Promise(() => undefined), close };
});
