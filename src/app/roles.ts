import type { Platform } from '../platform/open-platform.ts';
import { readConfig } from '../runtime/config.ts';
import { drain } from '../runtime/draining.ts';
import { type Running, runUntilStopped } from '../runtime/lifecycle.ts';
import { createLogger, type Logger } from '../runtime/logger.ts';
import { batch } from '../usecases/train/batcher/run-batcher.ts';
import { relay } from '../usecases/train/open-lease-service.ts';
import { keepProjected } from './project.ts';
import { serveApi } from './serve-api.ts';
import { startOnPlatform } from './start-on-platform.ts';

/** What a part of an installation does. It waits for work, and any number of its processes may run. */
interface Role<Started extends Pick<Running, 'close'>> {
  /** What its process logs when it is at work. */
  readonly ready: string;
  start(platform: Platform, logger: Logger): Promise<Started>;
}

const role = <Started extends Pick<Running, 'close'>>(defined: Role<Started>) => defined;

/**
 * The parts of an installation, in the order in which they start. `espalier up` runs all of them in one process, `workers/NAME.ts`
 * runs one, and `infra/compose.yaml` has a service for each.
 */
export const ROLES = {
  /** Folds the log into the read models, and forgets what is older than its project keeps it. */
  project: role({ ready: 'projecting', start: keepProjected }),
  /** Serves GraphQL, ingest, leases, the studio, health and metrics. Any number may run behind one address. */
  api: role({ ready: 'serving', start: serveApi }),
  /** Appends what was decided in Postgres to the log, and ends leases that ran out. One process sends at a time. */
  relay: role({ ready: 'relaying', start: relay }),
  /** Plans training batches. Each policy has one planner at a time, and one that dies is replaced by another process. */
  batch: role({ ready: 'batching', start: batch }),
};
export type RoleName = keyof typeof ROLES;

/** Runs one role in this process, until it is stopped. */
export async function runRole(name: RoleName): Promise<void> {
  await runUntilStopped(async (signal) => {
    const config = readConfig();
    const logger = createLogger({ level: config.logLevel }).with({ worker: name });
    const { ready, start }: Role<Partial<Running> & Pick<Running, 'close'> & { readonly url?: string }> = ROLES[name];
    const { platform, running, close } = await startOnPlatform({ config, name, logger, signal }, (opened) =>
      start(opened, logger),
    );
    logger.info(ready, { log: platform.mode.log, ...(running.url === undefined ? {} : { url: running.url }) });
    return { finished: running.finished ?? new Promise(() => undefined), drain: () => drain(config.drainMs), close };
  });
}
