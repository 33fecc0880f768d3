import type { Platform } from '../platform/open-platform.ts';
import { type ClosingPart, closeInTurn } from '../runtime/close-in-turn.ts';
import type { Running } from '../runtime/lifecycle.ts';
import type { Logger } from '../runtime/logger.ts';
import type { BatchOptions } from '../usecases/train/batcher/run-batcher.ts';
import { ROLES, type RoleName } from './roles.ts';
import { startInThread } from './start-in-thread.ts';

export interface RunningAll extends Running {
  readonly url: string;
  readonly batcher: BatchOptions;
}

/**
 * Runs every role in this process. Projections fold in a thread of their own where there is a second processor: they take as much
 * of one as collecting does. It resolves while that thread still starts; one that cannot ends `finished`. `close` ends them all;
 * the platform stays the caller's.
 */
export async function runAll(platform: Platform, logger: Logger): Promise<RunningAll> {
  const opened: ClosingPart[] = [];
  const closing = <T extends Pick<Running, 'close'>>(what: string, running: T): T => {
    opened.push({ what, close: () => running.close() });
    return running;
  };
  const close = () => closeInTurn(opened.splice(0).reverse());
  try {
    const roles = {
      project: closing('projections', platform.config.cores > 1 ? inThread() : await ROLES.project.start(platform, logger)),
      api: closing('the API', await ROLES.api.start(platform, logger)),
      relay: closing('the relay', await ROLES.relay.start(platform, logger)),
      batch: closing('the batcher', await ROLES.batch.start(platform, logger)),
    } satisfies Record<RoleName, unknown>;
    const finished = Promise.race([roles.project.finished, roles.relay.finished, roles.batch.finished]);
    return { url: roles.api.url, batcher: roles.batch, finished, close };
  } catch (error) {
    await close();
    throw error;
  }

  function inThread(): Running {
    const stopping = new AbortController();
    const starting = startInThread('project', platform, logger, { signal: stopping.signal });
    const finished = starting.then((projecting) => projecting.finished);
    finished.catch(() => undefined); // the caller waits for it
    return {
      finished,
      async close() {
        stopping.abort();
        await (await starting.catch(() => null))?.close();
      },
    };
  }
}
