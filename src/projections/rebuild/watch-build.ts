import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database } from '../../postgres/database.ts';
import { type Build, isRowOf, RebuildLost } from './build.ts';

/** How far a build is: offsets of the log passed, of those that the live version has passed. */
export interface BuildProgress {
  readonly projection: string;
  readonly done: number;
  readonly of: number;
  /** Offsets per second since this process began to watch. */
  readonly rate: number;
  /** Null before there is a rate. */
  readonly secondsLeft: number | null;
}
export interface Watching {
  readonly signal: AbortSignal;
  readonly progress: (progress: BuildProgress) => void;
}

const LOOK_MS = 50;
const REPORT_MS = 1_000;

/**
 * Reports the progress of a build, to the caller and to the database, until it has caught up with the live version or `finished`
 * resolves. @throws what `finished` rejects with.
 */
export async function watchBuild(
  { db }: Database,
  build: Build,
  { signal, progress, finished }: Watching & { readonly finished: Promise<void> },
): Promise<void> {
  const began = performance.now();
  let end: { readonly fault?: unknown } | undefined;
  // Attached before the first wait: a rejection that nobody listens to ends the process.
  finished.then(
    () => {
      end = {};
    },
    (fault: unknown) => {
      end = { fault };
    },
  );
  const first = (await placesOf(db, build)).done;
  for (let reported = 0; ; ) {
    signal.throwIfAborted();
    const { done, of, open } = await placesOf(db, build);
    if (end && 'fault' in end) throw end.fault; // looked at behind the wait: an end with a fault is no end of the work
    if (!open) throw new RebuildLost(build.projection.name, null);
    const rate = (done - first) / Math.max(0.001, (performance.now() - began) / 1_000);
    const state = { projection: build.projection.name, done, of, rate };
    progress({ ...state, secondsLeft: rate > 0 ? (of - done) / rate : null });
    const caughtUp = end !== undefined || done >= of;
    if (caughtUp || reported === 0 || performance.now() - reported > REPORT_MS) {
      reported = performance.now();
      await keepProgress(db, build, state);
    }
    if (caughtUp) return;
    await delay(LOOK_MS, undefined, { signal });
  }
}

async function placesOf(db: Database['db'], build: Build): Promise<{ done: number; of: number; open: boolean }> {
  const { projection, shadow } = build;
  const { rows } = await sql<{ done: number; of: number; open: boolean }>`
    select coalesce(sum(least(b.next_offset, l.next_offset)), 0)::bigint as done, coalesce(sum(l.next_offset), 0)::bigint as of,
           exists (select from projection_builds b where ${isRowOf(build)}) as open
    from projections p join cursors l on l.projection = p.name and l.version = p.version
    left join cursors b on b.projection = ${shadow.name} and b.topic = l.topic and b.partition = l.partition
    where p.name = ${projection.name}`.execute(db);
  return rows[0] ?? { done: 0, of: 0, open: false };
}

async function keepProgress(
  db: Database['db'],
  { projection, version }: Build,
  { done, of, rate }: Omit<BuildProgress, 'secondsLeft'>,
): Promise<void> {
  await db
    .updateTable('projectionBuilds')
    .set({ done, of, rate, toldAt: new Date() })
    .where('projection', '=', projection.name)
    .where('version', '=', version)
    .execute();
}
