import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import type { EventLog } from '../../log/event-log.ts';
import type { Database } from '../../postgres/database.ts';
import { foldBeside } from './fold-beside.ts';
import type { Build } from './open-build.ts';

/** How far a build is: offsets of the log passed, of those that the live version has passed. */
export interface BuildProgress {
  readonly projection: string;
  readonly done: number;
  readonly of: number;
  /** Offsets per second since this process began. */
  readonly rate: number;
  /** Null before there is a rate. */
  readonly secondsLeft: number | null;
}

const LOOK_MS = 50;

/** Folds a build until it has caught up with the live version, and goes on folding while `use` runs. */
export async function whileCaughtUp<T>(
  { log, database }: { readonly log: EventLog; readonly database: Database },
  build: Build,
  { signal, progress }: { readonly signal: AbortSignal; readonly progress: (progress: BuildProgress) => void },
  use: () => Promise<T>,
): Promise<T> {
  const began = performance.now();
  const first = (await placesOf(database, build)).done;
  const folding = await foldBeside({ log, database, build });
  let fault: { readonly error: unknown } | undefined;
  folding.finished.catch((error: unknown) => {
    fault = { error };
  });
  try {
    for (;;) {
      signal.throwIfAborted();
      if (fault) throw fault.error;
      const { done, of } = await placesOf(database, build);
      const rate = (done - first) / Math.max(0.001, (performance.now() - began) / 1_000);
      progress({ projection: build.projection.name, done, of, rate, secondsLeft: rate > 0 ? (of - done) / rate : null });
      if (done >= of) break;
      await delay(LOOK_MS, undefined, { signal });
    }
    return await Promise.race([use(), folding.finished.then(() => new Promise<never>(() => undefined))]);
  } finally {
    await folding.close();
  }
}

async function placesOf({ db }: Database, { projection, beside }: Build): Promise<{ done: number; of: number }> {
  const { rows } = await sql<{ done: number; of: number }>`
    select coalesce(sum(least(b.next_offset, l.next_offset)), 0)::bigint as done, coalesce(sum(l.next_offset), 0)::bigint as of
    from projections p join cursors l on l.projection = p.name and l.version = p.version
    left join cursors b on b.projection = ${beside.name} and b.topic = l.topic and b.partition = l.partition
    where p.name = ${projection.name}`.execute(db);
  return rows[0] ?? { done: 0, of: 0 };
}
