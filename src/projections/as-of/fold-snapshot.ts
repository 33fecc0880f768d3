import { sql } from 'kysely';
import type { LogBatch, Offsets } from '../../log/event-log.ts';
import type { Db } from '../../postgres/database.ts';
import { foldAndWrite, isolatePoison } from '../apply-slices.ts';
import { concerning, isConcerned, topicsOf } from '../concerns.ts';
import { decodeRecords } from '../decode-records.ts';
import { markRepeated } from '../journal/mark-repeated.ts';
import type { Projection } from '../projection.ts';
import { quarantineUnstorable, withRecordedRefusals } from '../quarantine.ts';
import type { Slice } from '../slice.ts';
import { horizon, readRecords } from './read-records.ts';
import type { Scope } from './scope.ts';
import { foldedIn } from './snapshot-schema.ts';

/**
 * Folds the records below a position into the tables that `into` names, through the same projections as the live ones. `from`
 * reads the journal of now. A requeue from quarantine is a record with a place of its own: below it the event waits, as it did
 * then.
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
    const slice = await sliceOf(from, batch);
    const concerned = folded.filter((projection) => topicsOf(projection).includes(slice.topic) && isConcerned(projection, slice));
    const settled = await Promise.allSettled(
      concerned.map(async (projection) => {
        const items = await withRecordedRefusals(from, projection.name, slice, slice.items);
        await foldSlice(into, projection, { ...slice, items }, signal);
      }),
    );
    for (const result of settled) if (result.status === 'rejected') throw result.reason;
  }
  await takeQuarantine(into, position);
}

async function sliceOf(db: Db, batch: LogBatch): Promise<Slice> {
  const { topic, partition, from, next } = batch;
  const slice = { topic, partition, from, next, items: await decodeRecords(db, batch) };
  return (await markRepeated(db, [slice]))[0] ?? slice;
}

/** Folds a slice into one projection; what Postgres refuses is isolated as live. */
async function foldSlice(into: Db, projection: Projection, slice: Slice, signal: AbortSignal): Promise<void> {
  const applied = (quarantined: number) => ({ cursor: slice.next, quarantined });
  await isolatePoison(
    { ...slice, items: concerning(projection, slice) },
    async (part) => {
      signal.throwIfAborted();
      return applied(await into.transaction().execute((trx) => foldAndWrite(trx, projection, [part])));
    },
    async (part, error) =>
      applied(await into.transaction().execute((trx) => quarantineUnstorable(trx, projection, part, part.items, error))),
  );
}

/** What the quarantine of now says of records below the position: those of the journal itself, and when each was set aside. */
async function takeQuarantine(into: Db, position: Offsets): Promise<void> {
  await sql`
    insert into quarantine (projection, topic, partition, "offset", event_id, type, stream, code, field, reason, body, quarantined_at,
                            requeued_at, requeued_offset)
    select q.projection, q.topic, q.partition, q."offset", q.event_id, q.type, q.stream, q.code, q.field, q.reason, q.body, q.quarantined_at,
           case when q.requeued_offset >= h.next then null else q.requeued_at end,
           case when q.requeued_offset >= h.next then null else q.requeued_offset end
    from public.quarantine q join ${horizon(position)} using (topic, partition)
    where q."offset" < h.next and q.projection in ('journal', 'journal-chain')
      and q.projection in (select name from projections) on conflict (projection, topic, partition, "offset") do nothing`.execute(
    into,
  );
  await sql`
    update quarantine q set quarantined_at = l.quarantined_at from public.quarantine l
    where (l.projection, l.topic, l.partition, l."offset") = (q.projection, q.topic, q.partition, q."offset")`.execute(into);
}
