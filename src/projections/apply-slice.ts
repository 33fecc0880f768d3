import { type RawBuilder, sql } from 'kysely';
import { catalogue, type EventType } from '../events/catalogue.ts';
import type { Delivery } from '../events/envelope.ts';
import type { Db, Trx } from '../postgres/database.ts';
import { SILENCE } from '../postgres/hold-transaction.ts';
import { type Projection, schemaNameOf } from './projection.ts';
import { closeReleased, quarantine } from './quarantine.ts';
import type { Applied, Item, Slice, Write } from './slice.ts';

/**
 * Offers a slice to one projection, in one transaction: lock its cursor row; drop what is below the cursor, ask for a rewind when
 * the slice begins above it; fold and write; quarantine what is poison; move the cursor by a compare-and-set that throws; commit.
 *
 * The transaction commits without waiting for the disk (`synchronous_commit = off`): the log is the durable record, and a crash
 * of the database takes back tables and cursor together, so that what was lost is folded again. A process that is stopped in the
 * middle loses the transaction, and the lock, to whoever folds the partition by then.
 */
export async function applySlice(db: Db, projection: Projection, slice: Slice, write: Write = foldItems): Promise<Applied> {
  return db.transaction().execute(async (trx) => {
    const cursor = await lockCursor(trx, projection, slice);
    if (cursor >= slice.next) return { cursor, quarantined: 0 };
    if (cursor < slice.from) return { cursor, quarantined: 0 };
    const mine = concerning(projection, slice).filter((item) => offsetOf(item) >= cursor);
    const quarantined = await write(trx, projection, slice, mine);
    await moveCursor(trx, projection, slice, cursor);
    return { cursor: slice.next, quarantined };
  });
}

const foldItems: Write = (trx, projection, slice, items) => foldAndWrite(trx, projection, [{ ...slice, items }]);

/**
 * The compare-and-set of a cursor found another value than the one locked: a second writer ignored the lock. A bug, never
 * retried.
 */
export class CursorMoved extends Error {
  override readonly name = 'CursorMoved';
}

/**
 * Folds the items of slices, one or several, in the transaction's tables, in their order: those that are refused go to
 * quarantine, those that are released leave the place where they waited. Returns how many went to quarantine.
 */
export async function foldAndWrite(trx: Trx, projection: Projection, slices: readonly Slice[]): Promise<number> {
  const parts = slices.map((slice) => {
    const deliveries: Delivery[] = [];
    const refused: Extract<Item, { kind: 'refused' }>[] = [];
    for (const item of slice.items)
      if (item.kind === 'event') deliveries.push(item.delivery);
      else refused.push(item);
    return { slice, deliveries, refused };
  });
  const deliveries = parts.length === 1 ? (parts[0]?.deliveries ?? []) : parts.flatMap((part) => part.deliveries);
  const poison = deliveries.length > 0 ? await projection.project(deliveries, trx) : [];
  let quarantined = 0;
  for (const { slice, deliveries, refused } of parts) {
    const { topic, partition } = slice;
    const mine = poison.filter(({ delivery }) => delivery.topic === topic && delivery.partition === partition);
    if (mine.length + refused.length > 0) await quarantine(trx, projection, slice, mine, refused);
    await closeReleased(trx, projection, slice, deliveries);
    quarantined += mine.length + refused.length;
  }
  return quarantined;
}

/**
 * Locks the cursor row and returns its offset. One statement also sets up the transaction: a batch costs a dozen round trips as
 * it is.
 */
async function lockCursor(trx: Trx, projection: Projection, slice: Slice): Promise<number> {
  const cursor = await lockRow(trx, projection, slice);
  if (cursor !== undefined) return cursor;
  const { name, version } = projection;
  // A partition that was never met, or a version that was swapped out, whose cursors are under another name now.
  await sql`
    insert into public.cursors (projection, version, topic, partition, next_offset)
    select ${name}::text, ${version}::int, ${slice.topic}::text, ${slice.partition}::int, 0
    where exists (select from public.projections p where p.name = ${name} and p.version = ${version})
       or exists (select from public.projection_builds b where b.projection || '@' || b.version = ${name} and b.state = 'building')
    on conflict (projection, version, topic, partition) do nothing`.execute(trx);
  const inserted = await lockRow(trx, projection, slice);
  if (inserted === undefined) throw new VersionGone(name, version);
  return inserted;
}

async function lockRow(trx: Trx, projection: Projection, slice: Slice): Promise<number | undefined> {
  const locked = await sql<{ nextOffset: number }>`
    select next_offset, set_config('synchronous_commit', 'off', true), ${SILENCE}, set_config('search_path', ${`${schemaNameOf(projection)}, public`}, true)
    from public.cursors where ${isCursorOf(projection, slice)} for update`.execute(trx);
  return locked.rows[0]?.nextOffset;
}

/** The version that a projector folds is neither live nor being built: another took over, and it must ask which. */
export class VersionGone extends Error {
  override readonly name = 'VersionGone';
  constructor(projection: string, version: number) {
    super(`version ${version} of ${projection} is neither live nor being built`);
  }
}

async function moveCursor(trx: Trx, projection: Projection, slice: Slice, from: number): Promise<void> {
  const moved = await sql`
    update public.cursors set next_offset = ${slice.next}, updated_at = now()
    where ${isCursorOf(projection, slice)} and next_offset = ${from}`.execute(trx);
  if (moved.numAffectedRows !== 1n)
    throw new CursorMoved(`cursor of ${projection.name} on ${slice.topic}.${slice.partition} is no longer at ${from}`);
}

function isCursorOf({ name, version }: Projection, { topic, partition }: Slice): RawBuilder<unknown> {
  return sql`projection = ${name} and version = ${version} and topic = ${topic} and partition = ${partition}`;
}

function offsetOf(item: Item): number {
  return item.kind === 'event' ? item.delivery.offset : item.offset;
}

/**
 * Returns whether an item is a projection's business: its types, and for the one that handles all also what is no event at all.
 */
function concerns(projection: Projection, item: Item): boolean {
  if (projection.handles !== 'all') {
    const type = item.kind === 'event' ? item.delivery.event.type : item.type;
    if (type === null || !setOf(projection.handles).has(type)) return false;
  }
  if (item.kind === 'refused') return true;
  const { supersededBy, event } = item.delivery;
  if (supersededBy !== undefined && !projection.keepsSuperseded) return false;
  // A released event leaves the quarantine, whatever it changes.
  return !projection.skips || event.released !== undefined || !projection.skips(item.delivery);
}

/** Returns the items of a slice that are a projection's business. */
export function concerning(projection: Projection, { items }: Slice): readonly Item[] {
  return hasTypesOf(projection, items) ? items.filter((item) => concerns(projection, item)) : [];
}

/** Returns whether anything in a slice is a projection's business. */
export function isConcerned(projection: Projection, { items }: Slice): boolean {
  return hasTypesOf(projection, items) && items.some((item) => concerns(projection, item));
}

/** Asked first: most projections fold types that a slice has none of. */
function hasTypesOf({ handles }: Projection, items: readonly Item[]): boolean {
  if (handles === 'all') return true;
  const set = setOf(handles);
  return typesIn(items).some((type) => set.has(type));
}

const sets = new WeakMap<readonly EventType[], ReadonlySet<string>>();
function setOf(handles: readonly EventType[]): ReadonlySet<string> {
  const known = sets.get(handles);
  if (known) return known;
  const set = new Set<string>(handles);
  sets.set(handles, set);
  return set;
}

const types = new WeakMap<readonly Item[], readonly string[]>();
function typesIn(items: readonly Item[]): readonly string[] {
  const known = types.get(items);
  if (known) return known;
  const all = new Set(items.map((item) => (item.kind === 'event' ? item.delivery.event.type : (item.type ?? ''))));
  types.set(items, [...all]);
  return [...all];
}

/** Lists the topics on which a projection's types lie. */
export function topicsOf(projection: Projection): readonly string[] {
  const types = projection.handles === 'all' ? (Object.keys(catalogue) as EventType[]) : projection.handles;
  return [...new Set(types.map((type) => catalogue[type].topic))];
}
