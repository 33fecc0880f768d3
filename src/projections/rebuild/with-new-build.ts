import { sql } from 'kysely';
import type { EventLog } from '../../log/event-log.ts';
import type { Database } from '../../postgres/database.ts';
import type { Projection } from '../projection.ts';
import { type Build, explainBuildError } from './build.ts';
import { foldInThreads, type Threads, threadsFor } from './fold-in-threads.ts';
import { foldShadow } from './fold-shadow.ts';
import { openBuild } from './open-build.ts';
import { type Watching, watchBuild } from './watch-build.ts';

interface Parts {
  readonly log: EventLog;
  readonly database: Database;
  readonly threads?: Threads | undefined;
}

/**
 * Folds a projection again next to the live version, and does something when it has caught up, while it is folded on. An
 * unfinished build of the same code is continued.
 */
export async function withNewBuild<T>(
  parts: Parts,
  projection: Projection,
  watching: Watching,
  use: (build: Build) => Promise<T>,
): Promise<T> {
  const build = await openBuild(parts.database, parts.log, projection);
  return withCaughtUpBuild(parts, build, watching, async () => {
    await analyzeTables(parts.database, build);
    return use(build);
  });
}

/**
 * Folds a build until it has caught up with the live version, in threads where much is left, and continues to fold while `use`
 * runs.
 */
export async function withCaughtUpBuild<T>(parts: Parts, build: Build, watching: Watching, use: () => Promise<T>): Promise<T> {
  const { log, database, threads } = parts;
  const count = await threadsFor(parts, build, threads);
  if (threads && count > 0) {
    const folding = await foldInThreads({ build, threads, count, log, database });
    try {
      await watchBuild(database, build, { ...watching, finished: folding.finished });
    } catch (error) {
      throw await explainBuildError(database.db, build, error);
    } finally {
      await folding.close();
    }
  }
  const folding = await foldShadow({ log, database, build });
  try {
    await watchBuild(database, build, { ...watching, finished: folding.finished });
    return await Promise.race([use(), folding.finished.then(() => new Promise<never>(() => undefined))]);
  } catch (error) {
    throw await explainBuildError(database.db, build, error);
  } finally {
    await folding.close();
  }
}

/** Gathers statistics for the plans of the first readers: autovacuum may not have come by yet. */
async function analyzeTables({ db }: Database, { schema }: Build): Promise<void> {
  const { rows } = await sql<{ analyze: string }>`
    select format('analyze %I.%I', schemaname, tablename) as analyze from pg_tables where schemaname = ${schema}`.execute(db);
  for (const { analyze } of rows) await sql.raw(analyze).execute(db);
}
