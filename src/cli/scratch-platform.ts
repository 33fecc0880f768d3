import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openAppender } from '../platform/open-appender.ts';
import { openPlatform, type Platform } from '../platform/open-platform.ts';
import { readConfig } from '../runtime/config.ts';
import { parseAgentTrajOptions } from '../usecases/datasets/import/agent-traj-options.ts';
import { importTrajectories } from '../usecases/datasets/import/import-trajectories.ts';
import { stoppable } from './stoppable.ts';

/** Opens a platform with a database and a log of its own for one command, and removes it after, however the command ends. */
export function withScratchPlatform<T>(name: string, use: (platform: Platform, signal: AbortSignal) => Promise<T>): Promise<T> {
  return stoppable(async (signal) => {
    const home = await mkdtemp(join(tmpdir(), `espalier-${name}-`));
    try {
      const own = readConfig({ ESPALIER_HOME: home, ESPALIER_PARTITIONS: '1' });
      const platform = await openPlatform(own, name);
      try {
        return await use(platform, signal);
      } finally {
        await platform.close();
      }
    } finally {
      await rm(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 }); // its server is still ending
    }
  });
}

/** Imports a file into a platform. @returns the runs that it holds. @throws DatasetError. */
export async function importInto(platform: Platform, source: string, signal: AbortSignal): Promise<readonly string[]> {
  const { runs } = await importTrajectories({
    source,
    form: 'detect',
    db: platform.database.db,
    appender: openAppender(platform, 'importer', { numbers: 'begin' }),
    blobs: platform.blobs,
    badRows: 'refuse',
    agentTraj: parseAgentTrajOptions({}),
    signal,
    onProgress: () => undefined,
  });
  return runs;
}
