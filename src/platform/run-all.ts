import type { Running } from '../runtime/lifecycle.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Platform } from './open-platform.ts';
import { project } from './project.ts';
import { serveApi } from './serve-api.ts';

/** Runs everything that waits for work in this process: projections and API. `close` ends them; the platform stays the caller's. */
export async function runAll(platform: Platform, logger: Logger): Promise<Running & { readonly url: string }> {
  const server = await serveApi(platform, logger);
  try {
    const subscription = await project(platform, logger);
    return {
      url: server.url,
      finished: subscription.finished,
      async close() {
        await subscription.close();
        await server.close();
      },
    };
  } catch (error) {
    await server.close();
    throw error;
  }
}
