import { sql } from 'kysely';
import { cutText } from '../domain/text/cut-text.ts';
import type { Refusal } from '../events/codec.ts';
import type { Delivery } from '../events/envelope.ts';
import { wellFormed } from '../events/well-formed.ts';
import { insertRows, recordset, typesOf } from '../postgres/bulk.ts';
import type { Db, Trx } from '../postgres/database.ts';
import { tables } from '../postgres/tables.ts';
import { FoldFailed } from './fault.ts';
import type { Poison, Projection } from './projection.ts';
import type { Item, Slice } from './slice.ts';

const REASON_LIMIT = 2_000; // characters

/** Sets aside, in the projection's transaction, what it refused and what is no event; the record's bytes are kept whole. */
export async function quarantine(
  trx: Trx,
  projection: Projection,
  { topic, partition }: Slice,
  poison: readonly Poison[],
  refused: readonly Extract<Item, { kind: 'refused' }>[],
): Promise<void> {
  const place = { projection: projection.name, topic, partition };
  const rows = [
    ...poison.map(({ delivery, code, field, reason }) => ({
      ...place,
      offset: delivery.offset,
      eventId: delivery.event.id,
      type: delivery.event.type,
      stream: delivery.event.stream,
      code,
      field,
      reason,
      body: hex(Buffer.from(delivery.body)),
    })),
    ...refused.map(({ offset, bytes, type, refusal }) => ({
      ...place,
      offset,
      eventId: null,
      type: type === null ? null : cutText(wellFormed(type).value, 200),
      stream: null,
      code: refusal.code,
      field: wellFormed(refusal.path).value,
      reason: wellFormed(refusal.message).value,
      body: hex(Buffer.from(bytes)),
    })),
  ];
  await insertRows(trx, tables.quarantine, rows); // in public, but where a snapshot as of a moment keeps one of its own
}

/**
 * Sets aside the items of a slice that could not be folded: events with the reason, what is no event with the reason it had before,
 * so that neither is passed over. Returns how many that were.
 */
export async function quarantineUnstorable(
  trx: Trx,
  projection: Projection,
  slice: Slice,
  items: readonly Item[],
  error: unknown,
): Promise<number> {
  const poison: Poison[] = [];
  const refused: Extract<Item, { kind: 'refused' }>[] = [];
  for (const item of items) {
    if (item.kind === 'refused') refused.push(item);
    else poison.push({ delivery: item.delivery, code: 'unstorable', field: '', reason: cannotStore(error) });
  }
  await quarantine(trx, projection, slice, poison, refused);
  await closeRequeued(
    trx,
    projection,
    slice,
    poison.map(({ delivery }) => delivery),
  );
  return items.length;
}

/** Describes why an event waits that no check of ours refused, but Postgres, or at which the fold failed. */
export function cannotStore(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const reason = cutText(wellFormed(message).value, REASON_LIMIT); // it may quote the event
  return error instanceof FoldFailed ? reason : `Postgres cannot store it: ${reason}`;
}

function hex(bytes: Buffer): string {
  return `\\x${bytes.toString('hex')}`;
}

/**
 * Notes, in the transaction of the projection that folds them, which records of its quarantine these deliveries requeue: from
 * here on the event waits no more at its first place. Taken now, it waits nowhere; refused again, at the place of the requeue,
 * with the reason of now.
 */
export async function closeRequeued(
  trx: Trx,
  { name }: Projection,
  { topic, partition }: Slice,
  deliveries: readonly Delivery[],
): Promise<void> {
  const first = new Map<number, { readonly offset: number; readonly requeuedAt: string; readonly requeuedOffset: number }>();
  for (const { offset, event } of deliveries) {
    const { released: requeued } = event;
    if (requeued && !first.has(requeued.offset))
      first.set(requeued.offset, { offset: requeued.offset, requeuedAt: requeued.at, requeuedOffset: offset });
  }
  if (first.size === 0) return;
  await sql`
    update quarantine q set requeued_at = coalesce(q.requeued_at, r.requeued_at), requeued_offset = r.requeued_offset
    from ${recordset([...first.values()], typesOf(tables.quarantine, ['offset', 'requeuedAt', 'requeuedOffset']))}
    where q.projection = ${name} and q.topic = ${topic} and q.partition = ${partition} and q."offset" = r."offset"
      and q.requeued_offset is null`.execute(trx);
}

/**
 * Returns items as a projection met them when it first passed them: a record that could not be read then waits in its quarantine,
 * whatever this program can read, and takes effect where it is requeued. Else a fold by newer code would have it at another place
 * than the one it compares with. What the journal alone could not read (a type that was not in the catalogue) concerned no other
 * projection, and is left out.
 * @param of the projection whose quarantine, with that of the journal, says so.
 */
export async function withRecordedRefusals(
  db: Db,
  of: string,
  { topic, partition, from, next }: Omit<Slice, 'items'>,
  items: readonly Item[],
): Promise<readonly Item[]> {
  const { rows } = await sql<{ projection: string; offset: number; type: string | null } & Refusal>`
    select projection, "offset", type, code, field as path, reason as message from public.quarantine
    where projection in (${of}, 'journal') and topic = ${topic} and partition = ${partition}
      and "offset" >= ${from} and "offset" < ${next} and event_id is null`.execute(db);
  if (rows.length === 0) return items;
  const own = new Map(rows.filter(({ projection }) => projection === of).map((row) => [row.offset, row]));
  const unread = new Set(rows.map(({ offset }) => offset));
  return items.flatMap((item) => {
    if (item.kind === 'refused' || !unread.has(item.delivery.offset)) return [item];
    const { offset, body } = item.delivery;
    const row = own.get(offset);
    if (!row) return [];
    const { type, code, path, message } = row;
    return [{ kind: 'refused', offset, bytes: Buffer.from(body, 'utf8'), type, refusal: { code, path, message } }];
  });
}
