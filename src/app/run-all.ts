import type { Platform } from '../platform/open-platform.ts';
import type { Running } from '../runtime/lifecycle.ts';
import type { Logger } from '../runtime/logger.ts';
import type { BatchOptions } from '../usecases/train/batcher/run-batcher.ts';
import { ROLE_NAMES, startRoles } from './roles.ts';

export interface RunningAll extends Running {
  readonly url: string;
  readonly batcher: BatchOptions;
}

/** Runs every role in this process (`startRoles`). */
export async function runAll(platform: Platform, logger: Logger): Promise<RunningAll> {
  const { roles, finished, close } = await startRoles(platform, logger, ROLE_NAMES);
  return { url: roles.api.url, batcher: roles.batch, finished, close };
}
