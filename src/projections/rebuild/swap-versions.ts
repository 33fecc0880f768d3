import { setTimeout as delay } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database, Trx } from '../../postgres/database.ts';
import { schemaNameOf, shadowVersion } from '../projection.ts';
import { VIEW_NAME } from '../view-names.ts';
import { atEqualCursors, CursorsDiffer } from './at-equal-cursors.ts';
import type { Build } from './build.ts';

// doubled with each attempt: the fold of this projection rests as long, readers never do
const READERS_MS = { first: 500, most: 20_000 };
const VIEW_LOCK_MS = 200; // behind a lock that waits, readers queue: they wait no longer than this
const POLL_MS = 10;
// what folded the live version may be other code than this, under the same number: no digest of it was kept
const UNKNOWN = 'unknown';

/**
 * Lets a build take over, in one transaction: the views in `public` show its tables, its cursors are those of the live version,
 * and what was live is kept next to it. It holds at a moment at which both hold the same events, so that no reader goes back in
 * time. Returns the version that was live.
 *
 * A read in one snapshot that began earlier would meet the new tables as they were at that time, half built: the swap waits until
 * none is left, and tries again when a view is in use, so that readers see no error and no half state.
 */
export async function swapVersions(
  database: Database,
  build: Build,
  waiting: { readonly limitMs: number; readonly signal: AbortSignal },
): Promise<number> {
  return atEqualCursors(database, build, waiting, async (trx, attempt) => {
    await untilReadersGone(trx, Math.min(READERS_MS.most, READERS_MS.first * 2 ** attempt));
    const { name } = build.projection;
    const live = await trx
      .selectFrom('projections')
      .select('version')
      .where('name', '=', name)
      .forUpdate()
      .executeTakeFirstOrThrow();
    const before = shadowVersion(build.projection, live.version);
    await keepTimes(trx, build);
    await rename(trx, name, before.name);
    await rename(trx, build.shadow.name, name);
    await trx
      .updateTable('projections')
      .set({ version: build.version, state: 'running', reason: null })
      .where('name', '=', name)
      .execute();
    await trx.deleteFrom('projectionBuilds').where('projection', '=', name).where('version', '=', build.version).execute();
    await trx
      .insertInto('projectionBuilds')
      .values({ projection: name, version: live.version, state: 'kept', digest: UNKNOWN })
      .execute();
    await sql`select set_config('lock_timeout', ${`${VIEW_LOCK_MS}ms`}, true)`.execute(trx);
    await showTables(trx, schemaNameOf(before), build.schema);
    return live.version;
  });
}

/** Records that both set aside keep the time at which they first were: they are listed by it. */
async function keepTimes(trx: Trx, { projection, shadow }: Build): Promise<void> {
  await sql`
    update quarantine b set quarantined_at = l.quarantined_at from quarantine l
    where b.projection = ${shadow.name} and l.projection = ${projection.name}
      and (l.topic, l.partition, l."offset") = (b.topic, b.partition, b."offset")`.execute(trx);
}

/**
 * Moves cursors and quarantine to another name. A projector that waits for one of these cursors finds it gone and asks what is
 * live.
 */
async function rename(trx: Trx, from: string, to: string): Promise<void> {
  await trx.updateTable('cursors').set({ projection: to }).where('projection', '=', from).execute();
  await trx.updateTable('quarantine').set({ projection: to }).where('projection', '=', from).execute();
}

/**
 * Waits until no statement or snapshot is open that began before now. Those who wait for a lock are projectors whose cursors we
 * hold.
 */
async function untilReadersGone(trx: Trx, limitMs: number): Promise<void> {
  const began = await sql<{ now: string }>`select clock_timestamp()::text as now`.execute(trx);
  const mark = began.rows[0]?.now ?? '';
  const deadline = performance.now() + limitMs;
  for (;;) {
    // Inside a transaction the activity of others is read once and kept, unless it is asked to look again.
    const { rows } = await sql<{ pid: number }>`
      with again as materialized (select pg_stat_clear_snapshot())
      select pid from again, pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend' and backend_xmin is not null
        and xact_start < ${mark}::timestamptz and coalesce(wait_event_type, '') <> 'Lock'`.execute(trx);
    if (rows.length === 0) return;
    if (performance.now() > deadline)
      throw new CursorsDiffer(`a read that began before is still open (backend ${rows.map(({ pid }) => pid).join(', ')})`);
    await delay(POLL_MS);
  }
}

/**
 * Points the views at the tables of a schema. A view keeps its identity where the columns allow it; one of a table that is no
 * more goes.
 */
async function showTables(trx: Trx, from: string, to: string): Promise<void> {
  const before = await shapesOf(trx, from);
  const after = await shapesOf(trx, to);
  for (const [table, shape] of before)
    if (!isGrownFrom(after.get(table), shape)) await sql.raw(`drop view if exists public.${table}`).execute(trx);
  for (const [table, { shown }] of after)
    await sql.raw(`create or replace view public.${table} as select * from ${to}.${shown}`).execute(trx);
}

/** What readers see of a table, and its columns with their types, in order. */
interface Shape {
  readonly table: string;
  readonly shown: string;
  readonly columns: readonly string[];
}

async function shapesOf(trx: Trx, schema: string): Promise<ReadonlyMap<string, Shape>> {
  const { rows } = await sql<Shape>`
    select t.tablename::text as "table", ${sql.raw(VIEW_NAME)} as shown, (
             select array_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod) order by a.attnum) from pg_attribute a
             where a.attrelid = format('%I.%I', t.schemaname, t.tablename)::regclass and a.attnum > 0 and not a.attisdropped) as columns
    from pg_tables t where t.schemaname = ${schema} order by t.tablename`.execute(trx);
  return new Map(rows.map((shape) => [shape.table, shape]));
}

/** Postgres replaces a view in place when its columns stay and others only follow them. */
function isGrownFrom(after: Shape | undefined, before: Shape): boolean {
  return after !== undefined && before.columns.every((column, i) => after.columns[i] === column);
}
