import type { Platform } from '../platform/open-platform.ts';
import { type ClosingPart, closeInTurn } from '../runtime/close-in-turn.ts';
import type { Running } from '../runtime/lifecycle.ts';
import type { Logger } from '../runtime/logger.ts';
import { type Batching, batch } from '../usecases/train/batch.ts';
import { relay } from '../usecases/train/relay.ts';
import { project } from './project.ts';
import { projectInThread } from './project-in-thread.ts';
import { keepRetention } from './retention.ts';
import { serveApi } from './serve-api.ts';

export interface RunningAll extends Running {
  readonly url: string;
  readonly batcher: Batching;
}

/**
 * Runs everything that waits for work in this process: projections, batcher, relay, retention and API. Projections fold in a
 * thread of their own where there is a second processor: they take as much of one as collecting does. It resolves while that
 * thread still starts; one that cannot ends `finished`. `close` ends them all; the platform stays the caller's.
 */
export async function runAll(platform: Platform, logger: Logger): Promise<RunningAll> {
  const projecting = platform.config.cores > 1 ? projectInThread(platform, logger) : project(platform, logger);
  projecting.catch(() => undefined); // `finished` says so
  const opened: ClosingPart[] = [{ what: 'projections', close: async () => (await projecting.catch(() => null))?.close() }];
  const closing = <T extends Pick<Running, 'close'>>(what: string, running: T): T => {
    opened.push({ what, close: () => running.close() });
    return running;
  };
  const close = () => closeInTurn(opened.splice(0).reverse());
  try {
    const server = closing('the API', await serveApi(platform, logger));
    const relaying = closing('the relay', await relay(platform, logger));
    const batcher = closing('the batcher', await batch(platform, logger));
    closing('retention', keepRetention(platform, logger));
    const projected = projecting.then(({ finished }) => finished);
    const finished = Promise.race([projected, relaying.finished, batcher.finished]);
    return { url: server.url, batcher, finished, close };
  } catch (error) {
    await close();
    throw error;
  }
}
