import type { EventLog } from '../../log/event-log.ts';
import type { Database } from '../../postgres/database.ts';
import { type Build, lostOr } from './build.ts';
import { foldShadow } from './fold-shadow.ts';
import { type Watching, watchBuild } from './watch-build.ts';

/** Folds a build until it has caught up with the live version, and goes on folding while `use` runs. */
export async function whileCaughtUp<T>(
  { log, database }: { readonly log: EventLog; readonly database: Database },
  build: Build,
  watching: Watching,
  use: () => Promise<T>,
): Promise<T> {
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
