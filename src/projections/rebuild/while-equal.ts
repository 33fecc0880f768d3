import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database, Trx } from '../../postgres/database.ts';
import { isDatabaseFault } from '../fault.ts';
import { readLiveVersions } from '../live-versions.ts';
import { codeVersionOf } from '../projection.ts';
import { foldsInto, offerTogether, type Place, placesOf, releaseFromQuarantine, type WaitingRecord } from '../quarantine.ts';
import type { Build } from './open-build.ts';

const HELD_MS = 2_000; // how long the live version may be held at most; most often a build that has caught up needs a few milliseconds
const POLL_MS = 5;
const RETRY_MS = 250;
const OFFERED = 1_000; // records of the quarantine in one transaction

/** A moment came to nothing: the build is not there yet, a reader or writer was in the way. It is tried again. */
export class NotNow extends Error {
  override readonly name = 'NotNow';
}

/**
 * Does something at a moment at which the live version and a build hold the fold of the same events. It holds the cursors of the live version,
 * so that its projector waits (readers never do), until the build has passed the rest, at most two seconds; then lets go and tries again.
 * @throws NotNow when that did not come about before `limitMs` were over.
 */
export async function whileEqual<T>(
  database: Database,
  build: Build,
  { limitMs, signal }: { readonly limitMs: number; readonly signal: AbortSignal },
  use: (trx: Trx, attempt: number) => Promise<T>,
): Promise<T> {
  const deadline = performance.now() + limitMs;
  for (let attempt = 0; ; attempt++) {
    signal.throwIfAborted();
    try {
      await releaseAsLive(database, build); // most of it before the live version is held: a whole run may hang on one release
      return await database.db.transaction().execute(async (trx) => {
        await holdLive(trx, build);
        await untilPassed(trx, build);
        await releaseAsLive(database, build);
        return use(trx, attempt);
      });
    } catch (error) {
      if (!(error instanceof NotNow) && !isDatabaseFault(error)) throw error;
      if (performance.now() > deadline)
        throw new NotNow(error instanceof Error ? error.message : String(error), { cause: error });
      await delay(RETRY_MS, undefined, { signal });
    }
  }
}

/** Locks every cursor of the live version. Partitions that it never met get one, so that it cannot begin on them unseen. */
async function holdLive(trx: Trx, { projection, beside }: Build): Promise<void> {
  await sql`select set_config('lock_timeout', ${`${HELD_MS}ms`}, true)`.execute(trx);
  await sql`
    insert into cursors (projection, version, topic, partition, next_offset)
    select p.name, p.version, c.topic, c.partition, 0 from projections p join cursors c on c.projection = ${beside.name}
    where p.name = ${projection.name} on conflict do nothing`.execute(trx);
  await sql`
    select from cursors c where c.projection = ${projection.name} order by topic, partition for update of c`.execute(trx);
}

/** How many events the live version has folded and the build has not. */
export async function countMissing(db: Database['db'] | Trx, { projection, beside }: Build): Promise<number> {
  const { rows } = await sql<{ missing: number }>`
    select coalesce(sum(abs(l.next_offset - coalesce(b.next_offset, 0))), 0)::bigint as missing
    from projections p join cursors l on l.projection = p.name and l.version = p.version
    left join cursors b on b.projection = ${beside.name} and b.topic = l.topic and b.partition = l.partition
    where p.name = ${projection.name}`.execute(db);
  return rows[0]?.missing ?? 0;
}

async function untilPassed(trx: Trx, build: Build): Promise<void> {
  const deadline = performance.now() + HELD_MS;
  for (;;) {
    const missing = await countMissing(trx, build);
    if (missing === 0) return;
    if (performance.now() > deadline) throw new NotNow(`${missing} events are still to be folded into ${build.schema}`);
    await delay(POLL_MS);
  }
}

/**
 * What was released from quarantine by hand is in the live tables and at no place of the log: it is released here in the same order. What live folded
 * because of it found its parent missing in the build, and is offered again until nothing more goes. Of that the build keeps no row, as live has none.
 */
async function releaseAsLive(database: Database, build: Build): Promise<void> {
  const { db } = database;
  const { rows } = await sql<Place>`
    select b.topic, b.partition, b."offset" from ${waitingInBuild(build)} and l.released_at is not null
    order by l.released_at, l.topic, l.partition, l."offset"`.execute(db);
  for (const place of rows) await releaseFromQuarantine(db, build.beside, place);
  while ((await offerAllAgain(database, build)) > 0);
  await sql`
    delete from quarantine b where b.projection = ${build.beside.name} and b.released_at is not null and not exists (
      select from quarantine l where l.projection = ${build.projection.name} and l.topic = b.topic and l.partition = b.partition
        and l."offset" = b."offset")`.execute(db);
  await sayAsLive(db, build);
}

/**
 * Says of what both set aside when that was, and when it was released: so the order of releases outlives a swap. Why it was set aside follows from
 * what was there by then, which after a release the build no longer knows: of the same code it takes the reason of the live version.
 */
async function sayAsLive(db: Database['db'], { projection, beside }: Build): Promise<void> {
  const live = (await readLiveVersions(db)).get(projection.name);
  const same = live !== undefined && codeVersionOf(live) === projection.version;
  await sql`
    with first as (select min(released_at) as released_at from quarantine where projection = ${projection.name}),
    said as (
      select l.topic, l.partition, l."offset", l.quarantined_at, l.released_at, r.code, r.field, r.reason
      from first f, quarantine l join quarantine b using (topic, partition, "offset"),
        lateral (select (case when ${same} and l.quarantined_at >= f.released_at then l else b end).*) r
      where l.projection = ${projection.name} and b.projection = ${beside.name}
        and (l.released_at is null) = (b.released_at is null)
        and (l.quarantined_at, l.released_at) is distinct from (b.quarantined_at, b.released_at))
    update quarantine b set quarantined_at = s.quarantined_at, released_at = s.released_at, code = s.code, field = s.field, reason = s.reason
    from said s
    where b.projection = ${beside.name} and b.topic = s.topic and b.partition = s.partition and b."offset" = s."offset"`.execute(
    db,
  );
}

/** Offers in log order what live does not hold in quarantine, or holds as released. Gives how much of it went. */
async function offerAllAgain({ db }: Database, build: Build): Promise<number> {
  const { beside } = build;
  const begin = <T>(use: (trx: Trx) => Promise<T>) =>
    db.transaction().execute(async (trx) => {
      await foldsInto(trx, beside);
      return use(trx);
    });
  let went = 0;
  let after: Place = { topic: '', partition: -1, offset: -1 };
  for (;;) {
    const { rows } = await sql<WaitingRecord>`
      select b.topic, b.partition, b."offset", b.body from ${waitingInBuild(build)}
        and (b.topic, b.partition, b."offset") > (${after.topic}, ${after.partition}::integer, ${after.offset}::bigint)
        and (l.projection is null or l.released_at is not null)
      order by b.topic, b.partition, b."offset" limit ${OFFERED}`.execute(db);
    went += await offerTogether(begin, beside, rows, (trx, taken) => settle(trx, build, taken));
    const last = rows.at(-1);
    if (last === undefined || rows.length < OFFERED) return went;
    after = last;
  }
}

/** What waits in the quarantine of a build, `b`, with the row of the live version at the same place, `l`, if it has one. */
function waitingInBuild({ projection, beside }: Build) {
  return sql`
    quarantine b left join quarantine l on l.projection = ${projection.name} and l.topic = b.topic and l.partition = b.partition
      and l."offset" = b."offset"
    where b.projection = ${beside.name} and b.released_at is null`;
}

async function settle(trx: Trx, { beside }: Build, taken: readonly Place[]): Promise<void> {
  await sql`
    update public.quarantine q set released_at = now() from ${placesOf(taken)}
    where q.projection = ${beside.name} and q.topic = p.topic and q.partition = p.partition and q."offset" = p."offset"`.execute(
    trx,
  );
}
