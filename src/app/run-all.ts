import type { Platform } from '../platform/open-platform.ts';
import type { Running } from '../runtime/lifecycle.ts';
import type { Logger } from '../runtime/logger.ts';
import { batch } from '../usecases/train/batch.ts';
import { relay } from '../usecases/train/relay.ts';
import { project } from './project.ts';
import { projectInThread } from './project-in-thread.ts';
import { keepRetention } from './retention.ts';
import { serveApi } from './serve-api.ts';

/**
 * Runs everything that waits for work in this process: projections, batcher, relay, retention and API. Projections fold in a
 * thread of their own where there is a second processor: they take as much of one as collecting does. `close` ends them; the
 * platform stays the caller's.
 */
export async function runAll(platform: Platform, logger: Logger): Promise<Running & { readonly url: string }> {
  const projecting = platform.config.cores > 1 ? projectInThread(platform, logger) : project(platform, logger);
  projecting.catch(() => undefined); // it is awaited below
  const server = await serveApi(platform, logger).catch(async (error: unknown) => {
    await (await projecting.catch(() => null))?.close();
    throw error;
  });
  try {
    const subscription = await projecting;
    const relaying = await relay(platform, logger).catch(async (error: unknown) => {
      await subscription.close();
      throw error;
    });
    const batching = await batch(platform, logger).catch(async (error: unknown) => {
      await relaying.close();
      await subscription.close();
      throw error;
    });
    const retaining = keepRetention(platform, logger);
    return {
      url: server.url,
      finished: Promise.race([subscription.finished, relaying.finished, batching.finished]),
      async close() {
        await retaining.close();
        await batching.close();
        await relaying.close();
        await subscription.close();
        await server.close();
      },
    };
  } catch (error) {
    await server.close();
    throw error;
  }
}
