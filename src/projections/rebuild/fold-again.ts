import type { EventLog } from '../../log/event-log.ts';
import type { Database } from '../../postgres/database.ts';
import type { Projection } from '../projection.ts';
import { type Build, lostOr } from './build.ts';
import { whileCaughtUp } from './catch-up.ts';
import { KeysRepeat } from './defer-indexes.ts';
import type { Threads } from './fold-in-threads.ts';
import { loadBuild } from './load-build.ts';
import { dropOwn, openBuild } from './open-build.ts';
import type { Watching } from './watch-build.ts';

/**
 * Folds a projection again next to the live version, at bulk speed where it can be loaded, and does something when it has caught
 * up, while it is folded on. An unfinished build of the same code is gone on with.
 */
export async function foldAgain<T>(
  parts: { readonly log: EventLog; readonly database: Database; readonly threads?: Threads | undefined },
  projection: Projection,
  watching: Watching,
  use: (build: Build) => Promise<T>,
): Promise<T> {
  const { database, log } = parts;
  let build = await openBuild(database, log, projection);
  try {
    await loadBuild(parts, build, watching);
  } catch (error) {
    if (!(error instanceof KeysRepeat)) throw await lostOr(database.db, build, error);
    await dropOwn(database.db, build);
    const { load: _, ...lookingUp } = projection;
    build = await openBuild(database, log, lookingUp);
  }
  const caughtUp = build;
  return whileCaughtUp(parts, caughtUp, watching, () => use(caughtUp));
}
