import type { EventLog } from '../../log/event-log.ts';
import type { Database } from '../../postgres/database.ts';
import { type Build, lostOr } from './build.ts';
import { foldInThreads, type Threads, threadsFor } from './fold-in-threads.ts';
import { foldShadow } from './fold-shadow.ts';
import { type Watching, watchBuild } from './watch-build.ts';

/**
 * Folds a build until it has caught up with the live version, in threads where much is left, and goes on folding while `use`
 * runs.
 */
export async function whileCaughtUp<T>(
  parts: { readonly log: EventLog; readonly database: Database; readonly threads?: Threads | undefined },
  build: Build,
  watching: Watching,
  use: () => Promise<T>,
): Promise<T> {
  const { log, database, threads } = parts;
  const count = await threadsFor(parts, build, threads);
  if (threads && count > 0) {
    const folding = await foldInThreads({ log, database, build, threads, count, how: 'look up' });
    try {
      await watchBuild(database, build, 'folding', { ...watching, finished: folding.finished });
    } catch (error) {
      throw await lostOr(database.db, build, error);
    } finally {
      await folding.close();
    }
  }
  const folding = await foldShadow({ log, database, build });
  try {
    await watchBuild(database, build, 'folding', { ...watching, finished: folding.finished });
    return await Promise.race([use(), folding.finished.then(() => new Promise<never>(() => undefined))]);
  } catch (error) {
    throw await lostOr(database.db, build, error);
  } finally {
    await folding.close();
  }
}
