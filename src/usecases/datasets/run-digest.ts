import type { Platform } from '../../platform/open-platform.ts';
import { digestRun } from './digest-trees.ts';

/**
 * Digests everything that happened in a run. Ids and times do not count, so the same seeded run over another log, or resumed
 * after a kill, yields the same digest.
 */
export function runDigest(
  { database, blobs }: Pick<Platform, 'database' | 'blobs'>,
  runId: string,
): ReturnType<typeof digestRun> {
  return database.db.transaction().execute((trx) => digestRun(trx, blobs, runId));
}
