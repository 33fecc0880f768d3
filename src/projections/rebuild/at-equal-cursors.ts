import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database, Trx } from '../../postgres/database.ts';
import { setIdleTimeout } from '../../postgres/hold-transaction.ts';
import { retry } from '../../runtime/retry.ts';
import { isDatabaseFault } from '../fault.ts';
import { type Build, refuseReplaced } from './build.ts';

// how long the live version may be held at most; most often a build that has caught up needs a few milliseconds
const HELD_MS = 2_000;
const POLL_MS = 5;
const RETRY_MS = 250;

/** A moment came to nothing: the build is not there yet, a reader or writer was in the way. It is tried again. */
export class CursorsDiffer extends Error {
  override readonly name = 'CursorsDiffer';
}

/**
 * Does something at a moment at which the live version and a build hold the fold of the same events. It holds the cursors of the
 * live version, so that its projector waits (readers never do), until the build has passed the rest, at most two seconds; then
 * lets go and tries again.
 * @throws CursorsDiffer when that did not come about before `limitMs` were over.
 */
export function atEqualCursors<T>(
  database: Database,
  build: Build,
  { limitMs, signal }: { readonly limitMs: number; readonly signal: AbortSignal },
  use: (trx: Trx, attempt: number) => Promise<T>,
): Promise<T> {
  const hold = async (tries: number): Promise<T> => {
    signal.throwIfAborted();
    return database.db.transaction().execute(async (trx) => {
      await holdLive(trx, build);
      await refuseReplaced(trx, build);
      await untilPassed(trx, build);
      return use(trx, tries - 1);
    });
  };
  return retry(hold, {
    signal,
    pauseMs: RETRY_MS,
    again: ({ error, elapsedMs }) => {
      if (!(error instanceof CursorsDiffer) && !isDatabaseFault(error)) return false;
      if (elapsedMs > limitMs) throw new CursorsDiffer(error instanceof Error ? error.message : String(error), { cause: error });
      return true;
    },
  });
}

/** Locks every cursor of the live version. Partitions that it never met get one, so that it cannot begin on them unseen. */
async function holdLive(trx: Trx, { projection, shadow }: Build): Promise<void> {
  await sql`select set_config('lock_timeout', ${`${HELD_MS}ms`}, true), ${setIdleTimeout}`.execute(trx);
  await sql`
    insert into cursors (projection, version, topic, partition, next_offset)
    select p.name, p.version, c.topic, c.partition, 0 from projections p join cursors c on c.projection = ${shadow.name}
    where p.name = ${projection.name} on conflict (projection, version, topic, partition) do nothing`.execute(trx);
  await sql`
    select from cursors c where c.projection = ${projection.name} order by topic, partition for update of c`.execute(trx);
}

/** How many events the live version has folded and the build has not. */
export async function countMissing(db: Database['db'] | Trx, { projection, shadow }: Build): Promise<number> {
  const { rows } = await sql<{ missing: number }>`
    select coalesce(sum(abs(l.next_offset - coalesce(b.next_offset, 0))), 0)::bigint as missing
    from projections p join cursors l on l.projection = p.name and l.version = p.version
    left join cursors b on b.projection = ${shadow.name} and b.topic = l.topic and b.partition = l.partition
    where p.name = ${projection.name}`.execute(db);
  return rows[0]?.missing ?? 0;
}

async function untilPassed(trx: Trx, build: Build): Promise<void> {
  const deadline = performance.now() + HELD_MS;
  for (;;) {
    const missing = await countMissing(trx, build);
    if (missing === 0) return;
    if (performance.now() > deadline) throw new CursorsDiffer(`${missing} events are still to be folded into ${build.schema}`);
    await delay(POLL_MS);
  }
}
