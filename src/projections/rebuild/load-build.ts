import type { EventLog } from '../../log/event-log.ts';
import type { Database } from '../../postgres/database.ts';
import { applyLoad } from './apply-load.ts';
import type { Build } from './build.ts';
import { makeDeferred } from './defer-indexes.ts';
import { foldInThreads, type Threads, threadsFor } from './fold-in-threads.ts';
import { foldShadow } from './fold-shadow.ts';
import { type Watching, watchBuild } from './watch-build.ts';

/**
 * Loads a fresh build up to the live version, and makes its indexes; in threads where there is much to load. The load ends early
 * at the first thing that what it remembers cannot decide (`LoadEnds`, a key that is there, a value that Postgres refuses, a lost
 * connection), and does not go on in another process, which remembers nothing: what is left is folded by looking up.
 * @throws KeysRepeat when the tables cannot get their keys; FoldThreadEnded.
 */
export async function loadBuild(
  parts: { readonly log: EventLog; readonly database: Database; readonly threads?: Threads | undefined },
  build: Build,
  watching: Watching,
): Promise<void> {
  const { log, database, threads } = parts;
  const { next } = build;
  if (next === 'fold') return;
  if (next === 'load') {
    const ended = new AbortController();
    const count = await threadsFor(parts, build, threads);
    const loading =
      threads && count > 0
        ? await foldInThreads({ log, database, build, threads, count, how: 'load', ended })
        : await foldShadow({ log, database, build, apply: applyLoad(build, ended) });
    try {
      await watchBuild(database, build, 'loading', { ...watching, finished: loading.finished, ended: ended.signal });
    } finally {
      await loading.close();
    }
  }
  const made = makeDeferred(database, build, watching.signal);
  try {
    await watchBuild(database, build, 'indexing', { ...watching, finished: made });
  } finally {
    await made.catch(() => undefined); // thrown above, or the build is given up: the index in flight is still made
  }
}
