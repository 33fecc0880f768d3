import { sql } from 'kysely';
import { cutText } from '../domain/text/cut-text.ts';
import { decode } from '../events/codec.ts';
import type { Delivery } from '../events/envelope.ts';
import { wellFormed } from '../events/well-formed.ts';
import { insertRows } from '../postgres/bulk.ts';
import type { Db, Trx } from '../postgres/database.ts';
import type { Slice } from './apply-slice.ts';
import type { Item } from './decode-records.ts';
import { isDataFault } from './fault.ts';
import { readLiveVersions } from './live-versions.ts';
import { atVersion, type Poison, type Projection, schemaNameOf } from './projection.ts';

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
      event_id: delivery.event.id,
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
      event_id: null,
      type: type === null ? null : cutText(wellFormed(type).value, 200),
      stream: null,
      code: refusal.code,
      field: wellFormed(refusal.path).value,
      reason: wellFormed(refusal.message).value,
      body: hex(Buffer.from(bytes)),
    })),
  ];
  await insertRows(trx, 'quarantine', rows, COLUMNS); // in public, but where a snapshot as of a moment keeps one of its own
}

/**
 * Sets aside the items of a slice that Postgres refused to store: events with its reason, what is no event with the reason it had before, so that
 * neither is passed over. Returns how many that were.
 */
export async function setAsideUnstorable(
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
  return items.length;
}

/** Says why an event waits that no check of ours refused, but Postgres. */
export function cannotStore(error: unknown): string {
  return `Postgres cannot store it: ${error instanceof Error ? error.message : String(error)}`;
}

const COLUMNS = {
  projection: 'text',
  topic: 'text',
  partition: 'integer',
  offset: 'bigint',
  event_id: 'uuid',
  type: 'text',
  stream: 'text',
  code: 'text',
  field: 'text',
  reason: 'text',
  body: 'bytea',
};

function hex(bytes: Buffer): string {
  return `\\x${bytes.toString('hex')}`;
}

export type Released = { readonly kind: 'released' } | { readonly kind: 'refused'; readonly reason: string };

/**
 * Offers a quarantined record to its projection again: after its parent arrived, or after an upgrade that can read it. What is still
 * refused stays where it is, with the reason.
 */
export async function releaseFromQuarantine(db: Db, projection: Projection, place: Place): Promise<Released> {
  try {
    return await release(db, projection, place);
  } catch (error) {
    if (isDataFault(error)) return { kind: 'refused', reason: cannotStore(error) };
    throw error;
  }
}

export interface Place {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

function release(db: Db, projection: Projection, place: Place): Promise<Released> {
  return db.transaction().execute(async (trx) => {
    const found = await sql<{ body: Buffer }>`
      select body from public.quarantine
      where projection = ${projection.name} and topic = ${place.topic} and partition = ${place.partition} and "offset" = ${place.offset}
        and released_at is null for update`.execute(trx);
    const row = found.rows[0];
    if (!row)
      return {
        kind: 'refused',
        reason: `nothing of ${projection.name} is quarantined at ${place.topic}.${place.partition}:${place.offset}`,
      };
    const decoded = decode(row.body);
    if (decoded.kind === 'refused') return { kind: 'refused', reason: `${decoded.refusal.path} ${decoded.refusal.message}` };
    await foldsInto(trx, projection);
    const [poison] = await projection.project([{ ...place, event: decoded.event, body: row.body.toString('utf8') }], trx);
    if (poison) return { kind: 'refused', reason: `${poison.field} ${poison.reason}` };
    await sql`
      update public.quarantine set released_at = now()
      where projection = ${projection.name} and topic = ${place.topic} and partition = ${place.partition} and "offset" = ${place.offset}`.execute(
      trx,
    );
    return { kind: 'released' };
  });
}

/** A record that waits, with its bytes. */
export interface WaitingRecord extends Place {
  readonly body: Buffer;
}

/**
 * Offers records that wait to a projection again, those of one partition together: a tree that hangs on one released event takes a few statements, not a
 * transaction for each of its events. `settle` says in the same transaction what becomes of those that it took. Gives how many that were.
 */
export async function offerTogether(
  begin: <T>(use: (trx: Trx) => Promise<T>) => Promise<T>,
  projection: Projection,
  waiting: readonly WaitingRecord[],
  settle: (trx: Trx, taken: readonly Place[]) => Promise<void>,
): Promise<number> {
  const slices = new Map<string, WaitingRecord[]>(); // a projection is given slices of one partition
  for (const record of waiting) {
    const place = `${record.topic} ${record.partition}`;
    const slice = slices.get(place) ?? [];
    slice.push(record);
    slices.set(place, slice);
  }
  let went = 0;
  for (const slice of slices.values()) went += await offerSlice(slice);
  return went;

  async function offerSlice(slice: readonly WaitingRecord[]): Promise<number> {
    const offered = slice.flatMap(deliver);
    if (offered.length === 0) return 0;
    try {
      return await begin(async (trx) => {
        const refused = new Set((await projection.project(offered, trx)).map(({ delivery }) => delivery));
        const taken = offered.filter((delivery) => !refused.has(delivery));
        if (taken.length > 0) await settle(trx, taken);
        return taken.length;
      });
    } catch (error) {
      if (!isDataFault(error)) throw error;
      if (slice.length === 1) return 0; // Postgres cannot store it: it waits on
      const middle = slice.length >> 1;
      const before = await offerSlice(slice.slice(0, middle));
      return before + (await offerSlice(slice.slice(middle)));
    }
  }
}

function deliver({ topic, partition, offset, body }: WaitingRecord): Delivery[] {
  const decoded = decode(body);
  return decoded.kind === 'refused' ? [] : [{ topic, partition, offset, event: decoded.event, body: body.toString('utf8') }];
}

/** Places as a relation `p (topic, partition, "offset")`. */
export function placesOf(places: readonly Place[]) {
  const rows = places.map(({ topic, partition, offset }) => ({ topic, partition, offset }));
  return sql`jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as p(topic text, partition integer, "offset" bigint)`;
}

/** Turns to the tables of the version that is live, or of the one that is built beside it, and keeps another from taking over meanwhile. */
export async function foldsInto(trx: Trx, projection: Projection): Promise<void> {
  await sql`select from public.projections where name = ${projection.name} for share`.execute(trx);
  const version = (await readLiveVersions(trx)).get(projection.name) ?? projection.version;
  await sql`set local search_path = ${sql.raw(schemaNameOf(atVersion(projection, version)))}, public`.execute(trx);
}
