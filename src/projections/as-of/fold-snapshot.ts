import { sql } from 'kysely';
import { decode } from '../../events/codec.ts';
import type { LogBatch, Offsets } from '../../log/event-log.ts';
import type { Db, Trx } from '../../postgres/database.ts';
import { concerns, type Slice, topicsOf } from '../apply-slice.ts';
import { decodeRecords, type Item } from '../decode-records.ts';
import { isDataFault } from '../fault.ts';
import type { Projection } from '../projection.ts';
import { offerTogether, type Place, placesOf, quarantine, setAsideUnstorable, type WaitingRecord } from '../quarantine.ts';
import { horizon, readRecords } from './read-records.ts';
import type { Scope } from './scope.ts';
import { foldedIn } from './snapshot-schema.ts';

const OFFERED = 1_000; // records of the quarantine in one transaction

/**
 * Folds the records below a position into the tables that `into` names, through the same projections as the live ones. `from` reads the
 * journal of now. What of them was released from quarantine by hand since is released here too: a release is no event and has no position, so what
 * was released counts as released at every position where the event is, as far as what it hangs on is there too. What hangs on it goes with it.
 */
export async function foldSnapshot(
  { from, into }: { readonly from: Db; readonly into: Db },
  projections: readonly Projection[],
  position: Offsets,
  scope: Scope,
  signal: AbortSignal,
): Promise<void> {
  const folded = foldedIn(projections);
  for await (const batch of readRecords(from, position, scope)) {
    signal.throwIfAborted();
    const slice = sliceOf(batch);
    const concerned = folded.filter(
      (projection) => topicsOf(projection).includes(slice.topic) && slice.items.some((item) => concerns(projection, item)),
    );
    const settled = await Promise.allSettled(concerned.map((projection) => foldSlice(into, projection, slice, signal)));
    for (const result of settled) if (result.status === 'rejected') throw result.reason;
  }
  await takeQuarantine(from, into, folded, position, signal);
}

function sliceOf(batch: LogBatch): Slice {
  const { topic, partition, from, next } = batch;
  return { topic, partition, from, next, items: decodeRecords(batch) };
}

/** Folds a slice into one projection; a slice that holds a value which Postgres refuses is halved until the one event stands alone, as live. */
async function foldSlice(into: Db, projection: Projection, slice: Slice, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const items = slice.items.filter((item) => concerns(projection, item));
  try {
    await into.transaction().execute(async (trx) => {
      const deliveries = items.flatMap((item) => (item.kind === 'event' ? [item.delivery] : []));
      const refused = items.filter((item): item is Extract<Item, { kind: 'refused' }> => item.kind === 'refused');
      const poison = deliveries.length > 0 ? await projection.project(deliveries, trx) : [];
      if (poison.length + refused.length > 0) await quarantine(trx, projection, slice, poison, refused);
    });
  } catch (error) {
    if (!isDataFault(error)) throw error;
    const middle = items.length >> 1;
    if (middle === 0) {
      await into.transaction().execute((trx) => setAsideUnstorable(trx, projection, slice, items, error));
      return;
    }
    await foldSlice(into, projection, { ...slice, items: items.slice(0, middle) }, signal);
    await foldSlice(into, projection, { ...slice, items: items.slice(middle) }, signal);
  }
}

/** What the quarantine of now says of records below the position: those of the journal itself, when each was set aside, which were released. */
async function takeQuarantine(
  from: Db,
  into: Db,
  folded: readonly Projection[],
  position: Offsets,
  signal: AbortSignal,
): Promise<void> {
  const { rows } = await sql<WaitingRecord & { projection: string }>`
    select q.projection, q.topic, q.partition, q."offset", q.body from public.quarantine q join ${horizon(position)} using (topic, partition)
    where q."offset" < h.next and q.released_at is not null order by q.released_at, q.topic, q.partition, q."offset"`.execute(
    from,
  );
  for (const row of rows) {
    const projection = folded.find(({ name }) => name === row.projection);
    if (projection) await release(into, projection, row);
  }
  for (const projection of folded) while ((await offerAllAgain(into, projection, signal)) > 0);
  await sql`
    insert into quarantine select q.* from public.quarantine q join ${horizon(position)} using (topic, partition)
    where q."offset" < h.next and q.projection in ('journal', 'journal-chain')
      and q.projection in (select name from projections) on conflict do nothing`.execute(into);
  await sql`
    update quarantine q set quarantined_at = l.quarantined_at from public.quarantine l
    where (l.projection, l.topic, l.partition, l."offset") = (q.projection, q.topic, q.partition, q."offset")`.execute(into);
}

async function release(into: Db, projection: Projection, { topic, partition, offset, body }: WaitingRecord): Promise<void> {
  const decoded = decode(body);
  if (decoded.kind === 'refused') return;
  await into.transaction().execute(async (trx) => {
    const { rows } = await sql`
      select from quarantine where projection = ${projection.name} and topic = ${topic} and partition = ${partition}
        and "offset" = ${offset} and released_at is null`.execute(trx);
    if (rows.length === 0) return;
    const delivery = { topic, partition, offset, event: decoded.event, body: body.toString('utf8') };
    const poison = await projection.project([delivery], trx);
    if (poison.length > 0) return;
    await sql`
      update quarantine q set released_at = l.released_at from public.quarantine l
      where (l.projection, l.topic, l.partition, l."offset") = (q.projection, q.topic, q.partition, q."offset")
        and q.projection = ${projection.name} and q.topic = ${topic} and q.partition = ${partition} and q."offset" = ${offset}`.execute(
      trx,
    );
  });
}

/**
 * Offers again, in log order, what waits here but not in the live quarantine: live folded it because of a release. What live has yet to reach it may
 * still set aside, so that waits here as well. Gives how much went; of that no row is kept where live has none.
 */
async function offerAllAgain(into: Db, projection: Projection, signal: AbortSignal): Promise<number> {
  const { name } = projection;
  let went = 0;
  let after: Place = { topic: '', partition: -1, offset: -1 };
  for (;;) {
    signal.throwIfAborted();
    const { rows } = await sql<WaitingRecord>`
      select q.topic, q.partition, q."offset", q.body from quarantine q
      join public.projections v on v.name = q.projection
      join public.cursors c on c.projection = v.name and c.version = v.version and c.topic = q.topic and c.partition = q.partition
      left join public.quarantine l
        on (l.projection, l.topic, l.partition, l."offset") = (q.projection, q.topic, q.partition, q."offset")
      where q.projection = ${name} and q.released_at is null and q."offset" < c.next_offset
        and (l.projection is null or l.released_at is not null)
        and (q.topic, q.partition, q."offset") > (${after.topic}, ${after.partition}::integer, ${after.offset}::bigint)
      order by q.topic, q.partition, q."offset" limit ${OFFERED}`.execute(into);
    went += await offerTogether(
      (use) => into.transaction().execute(use),
      projection,
      rows,
      (trx, taken) => settle(trx, projection, taken),
    );
    const last = rows.at(-1);
    if (last === undefined || rows.length < OFFERED) return went;
    after = last;
  }
}

async function settle(trx: Trx, { name }: Projection, taken: readonly Place[]): Promise<void> {
  await sql`
    update quarantine q set released_at = l.released_at from public.quarantine l join ${placesOf(taken)} using (topic, partition, "offset")
    where l.projection = ${name} and (l.projection, l.topic, l.partition, l."offset") = (q.projection, q.topic, q.partition, q."offset")`.execute(
    trx,
  );
  await sql`
    delete from quarantine q using ${placesOf(taken)}
    where q.projection = ${name} and (q.topic, q.partition, q."offset") = (p.topic, p.partition, p."offset") and q.released_at is null`.execute(
    trx,
  );
}
