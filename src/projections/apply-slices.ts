import { sql } from 'kysely';
import type { Delivery } from '../events/envelope.ts';
import { isKeyTaken } from '../postgres/bulk.ts';
import type { Db, Trx } from '../postgres/database.ts';
import { setIdleTimeout } from '../postgres/hold-transaction.ts';
import { settled } from '../postgres/side-by-side.ts';
import { concerning } from './concerns.ts';
import { FoldFailed, isDatabaseFault, isPostgresError, isRejectedByPostgres } from './fault.ts';
import { type Poison, type Projection, schemaNameOf } from './projection.ts';
import { closeRequeued, quarantine, quarantineUnstorable } from './quarantine.ts';
import { type Item, offsetOf, type Slice } from './slice.ts';

/** A slice that a projection is to fold. */
export interface SliceOffer {
  readonly projection: Projection;
  readonly slice: Slice;
}

/** What became of an offer. */
export interface AppliedSlice {
  /**
   * The projection's cursor after the slice: `slice.next`, or less when the slice began above it and must be read again from
   * there.
   */
  readonly cursor: number;
  readonly quarantined: number;
}

/** What ended an offer, where no event and no fault of the database explains it. */
export interface FailedSlice {
  readonly error: unknown;
}

/**
 * Offers slices to projections, all in one transaction: lock the cursors; drop what is below them, leave a slice that begins
 * above; fold and write; quarantine what is poison; move the cursors by a compare-and-set that throws; commit. An offer whose
 * cursor another process holds follows in a transaction of its own, which waits for it. When the transaction fails, halves of the
 * offers are applied, down to one of one projection (`applySlice`).
 *
 * The transaction commits without waiting for the disk (`synchronous_commit = off`): the log is the durable record, and a crash
 * of the database takes back tables and cursors together, so that what was lost is folded again. A process that is stopped in the
 * middle loses the transaction, and the locks, to the process that folds the partition by then.
 * @throws a fault of the database: what was applied before it is found applied when the offers are made again.
 */
export async function applySlices(
  db: Db,
  offers: readonly SliceOffer[],
): Promise<ReadonlyMap<SliceOffer, AppliedSlice | FailedSlice>> {
  const [only] = offers;
  if (only === undefined) return new Map();
  if (offers.length === 1) return new Map([[only, await applyOrFail(db, only)]]);
  const results = new Map<SliceOffer, AppliedSlice | FailedSlice>();
  try {
    for (const [offer, applied] of await applyTogether(db, offers, foldConcerning)) results.set(offer, applied);
  } catch (error) {
    if (isDatabaseFault(error)) throw error;
    const middle = offers.length >> 1;
    for (const half of [offers.slice(0, middle), offers.slice(middle)])
      for (const [offer, result] of await applySlices(db, half)) results.set(offer, result);
    return results;
  }
  for (const offer of offers) if (!results.has(offer)) results.set(offer, await applyOrFail(db, offer));
  return results;
}

async function applyOrFail(db: Db, { projection, slice }: SliceOffer): Promise<AppliedSlice | FailedSlice> {
  try {
    return await applySlice(db, projection, slice);
  } catch (error) {
    if (isDatabaseFault(error)) throw error;
    return { error };
  }
}

/**
 * Offers a slice to one projection. When its fold fails or Postgres refuses what it writes, the slice is halved until the one event
 * to blame is isolated and goes to quarantine: it must not freeze the read model of everything after it.
 * @throws VersionGone; a fault of the database; what no event explains.
 */
export async function applySlice(db: Db, projection: Projection, slice: Slice): Promise<AppliedSlice> {
  const apply = async (part: Slice, write: Write): Promise<AppliedSlice> => {
    const [applied] = (await applyTogether(db, [{ projection, slice: part }], write)).values();
    if (!applied) throw new VersionGone(projection.name, projection.version);
    return applied;
  };
  let failed = 0;
  return isolatePoison(
    { ...slice, items: concerning(projection, slice) },
    (part) => apply(part, foldConcerning),
    (part, error) => {
      if (error instanceof FoldFailed && ++failed > MOST_FAILED)
        throw new Error(`more than ${MOST_FAILED} events of one slice are not to blame, its fold is: ${error.message}`, {
          cause: error,
        });
      return apply(part, async (trx, _, [mine]) => (mine ? quarantineUnstorable(trx, projection, mine, mine.items, error) : 0));
    },
  );
}

const KEY_TRIES = 10;
const MOST_FAILED = 20; // events of a slice at which a fold may throw; a bug throws at every one

/**
 * Folds a slice, or halves of it where an event is refused, down to a single item, which is set aside. A key that another
 * transaction took meanwhile is found when the item is folded again.
 */
export async function isolatePoison(
  slice: Slice,
  fold: (part: Slice) => Promise<AppliedSlice>,
  setAside: (part: Slice, error: unknown) => Promise<AppliedSlice>,
): Promise<AppliedSlice> {
  const isSingle = slice.items.length <= 1;
  for (let tries = 1; ; tries++) {
    try {
      return await fold(slice);
    } catch (error) {
      if (!isRejectedByPostgres(error)) throw error;
      if (!isSingle) break;
      if (!isKeyTaken(error) || tries === KEY_TRIES) return setAside(slice, error);
    }
  }
  const middle = slice.items.length >> 1;
  const cut = offsetOf(slice.items[middle] as Item); // there are at least two items
  const first = await isolatePoison({ ...slice, next: cut, items: slice.items.slice(0, middle) }, fold, setAside);
  if (first.cursor < cut) return first;
  const second = await isolatePoison({ ...slice, from: cut, items: slice.items.slice(middle) }, fold, setAside);
  return { cursor: second.cursor, quarantined: first.quarantined + second.quarantined };
}

/** Writes what slices mean to a projection; returns how many items went to quarantine. */
type Write = (trx: Trx, projection: Projection, slices: readonly Slice[]) => Promise<number>;

const foldConcerning: Write = (trx, projection, slices) => {
  const parts = slices.map((slice) => ({ ...slice, items: concerning(projection, slice) }));
  return foldAndWrite(
    trx,
    projection,
    parts.filter(({ items }) => items.length > 0),
  );
};

/** Applies offers in one transaction; those whose cursors it does not get are left out. A single offer waits for its cursor. */
async function applyTogether(
  db: Db,
  offers: readonly SliceOffer[],
  write: Write,
): Promise<ReadonlyMap<SliceOffer, AppliedSlice>> {
  return db.transaction().execute(async (trx) => {
    await setUp(trx, offers);
    const cursors = await lockCursors(trx, offers);
    const taken = offers.filter((offer) => isIn(offer, cursors.get(offer)));
    const quarantined = new Map<SliceOffer, number>();
    await settled(
      [...new Set(taken.map(({ projection }) => projection))].map(async (projection) => {
        const mine = taken.filter((offer) => offer.projection === projection);
        const left = mine.map((offer) => above(offer.slice, cursors.get(offer) ?? 0));
        const [first] = mine;
        if (first) quarantined.set(first, await write(trx, projection, left));
      }),
    );
    await moveCursors(trx, taken, cursors);
    const passed = new Set(taken);
    return new Map(
      [...cursors].map(([offer, cursor]) => [
        offer,
        { cursor: passed.has(offer) ? offer.slice.next : cursor, quarantined: quarantined.get(offer) ?? 0 },
      ]),
    );
  });
}

function isIn({ slice }: SliceOffer, cursor: number | undefined): boolean {
  return cursor !== undefined && cursor >= slice.from && cursor < slice.next;
}

/** Returns what of a slice is not folded yet. */
function above(slice: Slice, cursor: number): Slice {
  return cursor === slice.from ? slice : { ...slice, items: slice.items.filter((item) => offsetOf(item) >= cursor) };
}

/**
 * The compare-and-set of a cursor found another value than the one locked: a second writer ignored the lock. A bug, never
 * retried.
 */
class CursorMoved extends Error {
  override readonly name = 'CursorMoved';
}

/** The version that a process folds is neither live nor being built: another took over, and it must ask which. */
export class VersionGone extends Error {
  override readonly name = 'VersionGone';
  constructor(projection: string, version: number) {
    super(`version ${version} of ${projection} is neither live nor being built`);
  }
}

/**
 * Sets up the transaction. Plans read by keys whatever the tables hold, also before they are analyzed: what a slice names is looked
 * up row by row. They are generic, so that no parameter is evaluated twice.
 */
async function setUp(trx: Trx, offers: readonly SliceOffer[]): Promise<void> {
  const schemas = new Set(offers.map(({ projection }) => schemaNameOf(projection)));
  await sql`
    select ${setIdleTimeout}, set_config('synchronous_commit', 'off', true), set_config('enable_seqscan', 'off', true),
      set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true), set_config('jit', 'off', true),
      set_config('plan_cache_mode', 'force_generic_plan', true),
      set_config('search_path', ${[...schemas, 'public'].join(', ')}, true)`.execute(trx);
}

/**
 * Locks the cursors of offers. Of several, one that another process holds is skipped; a single one is waited for. A partition
 * that was never met gets a cursor, unless the version was swapped out: then its cursors have another name.
 */
async function lockCursors(trx: Trx, offers: readonly SliceOffer[]): Promise<ReadonlyMap<SliceOffer, number>> {
  const cursors = await lockExisting(trx, offers, offers.length > 1);
  const others = offers.filter((offer) => !cursors.has(offer));
  if (others.length === 0) return cursors;
  await sql`
    insert into public.cursors (projection, version, topic, partition, next_offset)
    select a.projection, a.version, a.topic, a.partition, 0 from ${places(others)}
    where exists (select from public.projections p where p.name = a.projection and p.version = a.version)
       or exists (select from public.projection_builds b where b.projection || '@' || b.version = a.projection and b.state = 'building')
    on conflict (projection, version, topic, partition) do nothing`.execute(trx);
  return new Map([...cursors, ...(await lockExisting(trx, others, offers.length > 1))]);
}

async function lockExisting(
  trx: Trx,
  offers: readonly SliceOffer[],
  skipsHeld: boolean,
): Promise<ReadonlyMap<SliceOffer, number>> {
  const { rows } = await sql<{ at: number; cursor: number }>`
    select a.at::int, c.next_offset as cursor from ${places(offers)}
    join public.cursors c on (c.projection, c.version, c.topic, c.partition) = (a.projection, a.version, a.topic, a.partition)
    for update of c ${sql.raw(skipsHeld ? 'skip locked' : '')}`.execute(trx);
  // in the order of the offers
  const cursorAt = new Map(rows.map(({ at, cursor }) => [at, cursor]));
  return new Map(
    offers.flatMap((offer, i) => {
      const cursor = cursorAt.get(i + 1);
      return cursor === undefined ? [] : [[offer, cursor] as const];
    }),
  );
}

async function moveCursors(trx: Trx, taken: readonly SliceOffer[], cursors: ReadonlyMap<SliceOffer, number>): Promise<void> {
  if (taken.length === 0) return;
  const moved = await sql`
    update public.cursors c set next_offset = m.next, updated_at = now()
    from ${places(taken)} join unnest(
      ${taken.map((offer) => cursors.get(offer))}::bigint[], ${taken.map(({ slice }) => slice.next)}::bigint[]
    ) with ordinality as m (start, next, at) using (at)
    where (c.projection, c.version, c.topic, c.partition) = (a.projection, a.version, a.topic, a.partition)
      and c.next_offset = m.start`.execute(trx);
  if (moved.numAffectedRows !== BigInt(taken.length))
    throw new CursorMoved(`cursors of ${taken.map(describeOffer).join(', ')} are no longer where they were locked`);
}

/** The offers as a relation `a`, numbered from 1. */
function places(offers: readonly SliceOffer[]) {
  return sql`unnest(
    ${offers.map(({ projection }) => projection.name)}::text[], ${offers.map(({ projection }) => projection.version)}::int[],
    ${offers.map(({ slice }) => slice.topic)}::text[], ${offers.map(({ slice }) => slice.partition)}::int[]
  ) with ordinality as a (projection, version, topic, partition, at)`;
}

function describeOffer({ projection, slice }: SliceOffer): string {
  return `${projection.name} on ${slice.topic}.${slice.partition}`;
}

/**
 * Folds the items of slices of one projection in the transaction's tables, in their order: those that are refused go to
 * quarantine, those that are requeued leave the place where they waited. Returns how many went to quarantine.
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
  const poison = deliveries.length > 0 ? await foldEvents(projection, deliveries, trx) : [];
  let quarantined = 0;
  for (const { slice, deliveries, refused } of parts) {
    const { topic, partition } = slice;
    const mine = poison.filter(({ delivery }) => delivery.topic === topic && delivery.partition === partition);
    if (mine.length + refused.length > 0) await quarantine(trx, projection, slice, mine, refused);
    await closeRequeued(trx, projection, slice, deliveries);
    quarantined += mine.length + refused.length;
  }
  return quarantined;
}

/** Has a projection fold events. @throws FoldFailed when the fold itself throws; else what the database said. */
export async function foldEvents(projection: Projection, deliveries: readonly Delivery[], trx: Trx): Promise<readonly Poison[]> {
  try {
    return await projection.project(deliveries, trx);
  } catch (error) {
    if (isPostgresError(error) || isDatabaseFault(error)) throw error;
    throw new FoldFailed(error);
  }
}
