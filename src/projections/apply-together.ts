import { sql } from 'kysely';
import type { Db, Trx } from '../postgres/database.ts';
import { SILENCE } from '../postgres/hold-transaction.ts';
import { KEYED_PLANS } from '../postgres/preparing.ts';
import { CursorMoved, concerning, foldAndWrite } from './apply-slice.ts';
import { type Projection, schemaNameOf } from './projection.ts';
import type { Slice } from './slice.ts';

/** What became of slices that were offered together. */
export interface AppliedTogether {
  readonly applied: ReadonlySet<Slice>;
  readonly quarantined: number;
}

/**
 * Offers slices of several partitions to one projection, in one transaction: the cost of a transaction, of its look-ups and of
 * its writes is paid once for all of them. It takes the slices that begin at their cursor, where nobody else holds the cursor;
 * the others (a new partition, a redelivery, a gap, another projector at work) are left to `applySlice`, as is everything when
 * this throws.
 */
export async function applyTogether(db: Db, projection: Projection, slices: readonly Slice[]): Promise<AppliedTogether> {
  return db.transaction().execute(async (trx) => {
    const taken = await lockCursors(trx, projection, slices);
    if (taken.length === 0) return { applied: new Set(), quarantined: 0 };
    const parts = taken.map((slice) => ({ ...slice, items: concerning(projection, slice) }));
    const quarantined = await foldAndWrite(trx, projection, parts);
    await moveCursors(trx, projection, taken);
    return { applied: new Set(taken), quarantined };
  });
}

/** A slice that changes nothing of a projection, which moves its cursor alone. */
export interface Pass {
  readonly projection: Projection;
  readonly slice: Slice;
}

/**
 * Moves cursors of projections past slices that do not concern them, all in one statement: most slices concern few projections,
 * and each would cost a transaction. Returns those that were moved; a cursor that is not where its slice begins, or that somebody
 * holds, stays, and is left to `applySlice`.
 */
export async function passCursors(db: Db, passes: readonly Pass[]): Promise<ReadonlySet<Pass>> {
  const { rows } = await sql<{ at: number }>`
    with quick as materialized (select set_config('synchronous_commit', 'off', true) as setting),
    asked as (
      select * from unnest(
        ${passes.map(({ projection }) => projection.name)}::text[], ${passes.map(({ projection }) => projection.version)}::int[],
        ${passes.map(({ slice }) => slice.topic)}::text[], ${passes.map(({ slice }) => slice.partition)}::int[],
        ${passes.map(({ slice }) => slice.from)}::bigint[], ${passes.map(({ slice }) => slice.next)}::bigint[]
      ) with ordinality as a (projection, version, topic, partition, start, next, at)
    ),
    free as materialized (
      select c.projection, c.version, c.topic, c.partition, a.start, a.next, a.at from asked a
      join public.cursors c on (c.projection, c.version, c.topic, c.partition) = (a.projection, a.version, a.topic, a.partition)
      where c.next_offset = a.start for update of c skip locked
    )
    update public.cursors c set next_offset = f.next, updated_at = now() from free f, quick
    where (c.projection, c.version, c.topic, c.partition) = (f.projection, f.version, f.topic, f.partition)
      and c.next_offset = f.start
    returning f.at::int`.execute(db);
  const moved = new Set(rows.map(({ at }) => at - 1));
  return new Set(passes.filter((_, i) => moved.has(i)));
}

/**
 * Locks the cursors that stand where their slice begins and returns those slices, in order of their places. A cursor that
 * somebody holds is passed over: waiting for one partition would keep all of them waiting.
 */
async function lockCursors(trx: Trx, projection: Projection, slices: readonly Slice[]): Promise<readonly Slice[]> {
  const { name, version } = projection;
  const { rows } = await sql<{ topic: string; partition: number }>`
    select topic, partition, set_config('synchronous_commit', 'off', true), ${SILENCE},
      set_config('search_path', ${`${schemaNameOf(projection)}, public`}, true), ${KEYED_PLANS}
    from public.cursors where projection = ${name} and version = ${version} and (topic, partition, next_offset) in (
      select * from unnest(${slices.map(({ topic }) => topic)}::text[], ${slices.map(({ partition }) => partition)}::int[],
        ${slices.map(({ from }) => from)}::bigint[])
    ) for update skip locked`.execute(trx);
  const free = new Set(rows.map(placeOf));
  return slices.filter((slice) => free.has(placeOf(slice))).sort(byPlace);
}

async function moveCursors(trx: Trx, projection: Projection, slices: readonly Slice[]): Promise<void> {
  const moved = await sql`
    update public.cursors c set next_offset = s.next, updated_at = now()
    from unnest(${slices.map(({ topic }) => topic)}::text[], ${slices.map(({ partition }) => partition)}::int[],
      ${slices.map(({ from }) => from)}::bigint[], ${slices.map(({ next }) => next)}::bigint[]) as s (topic, partition, start, next)
    where c.projection = ${projection.name} and c.version = ${projection.version}
      and (c.topic, c.partition) = (s.topic, s.partition) and c.next_offset = s.start`.execute(trx);
  if (moved.numAffectedRows !== BigInt(slices.length))
    throw new CursorMoved(
      `cursors of ${projection.name} on ${slices.map(placeOf).join(', ')} are no longer where they were locked`,
    );
}

function placeOf({ topic, partition }: { readonly topic: string; readonly partition: number }): string {
  return `${topic}.${partition}`;
}

function byPlace(a: Slice, b: Slice): number {
  return a.topic === b.topic ? a.partition - b.partition : a.topic < b.topic ? -1 : 1;
}
