import { readFile } from 'node:fs/promises';
import { sql } from 'kysely';
import type { Offsets } from '../../log/event-log.ts';
import type { Db, Trx } from '../../postgres/database.ts';
import { countDestroyedKeys } from '../../postgres/stream-keys.ts';
import { topicsOf } from '../concerns.ts';
import { tablesFileOf } from '../install.ts';
import { EVENTS_OF_RUNS } from '../journal/count-of-runs.ts';
import { journal } from '../journal/journal.ts';
import { journalChain } from '../journal-chain/journal-chain.ts';
import { readLiveVersions } from '../live-versions.ts';
import { atVersion, type Projection, schemaNameOf } from '../projection.ts';
import { viewNameOf } from '../view-names.ts';
import { horizon } from './read-records.ts';

/** They are the record itself: as of a moment they are shown, not folded. */
const SHOWN: readonly Projection[] = [journal, journalChain];

/** The version of each projection that is shown. */
export type ShownVersions = ReadonlyMap<string, number>;

/**
 * Reads which versions a snapshot made now shows. It holds no longer than they do: after a rebuild `--retire` drops what was live
 * before, and its views with that.
 */
export async function readShownVersions(db: Db): Promise<ShownVersions> {
  const live = await readLiveVersions(db);
  const versions = SHOWN.map(({ name, version }): [string, number] => [name, live.get(name) ?? version]);
  return new Map([...versions, ['destroyed keys', await countDestroyedKeys(db)]]); // what was folded before may show what they sealed
}

/** Returns the projections among these that are folded into a snapshot. */
export function foldedIn(projections: readonly Projection[]): readonly Projection[] {
  return projections.filter((projection) => !SHOWN.includes(projection));
}

/**
 * Makes the schema of a snapshot: the tables of the projections, empty; the journal and its chain as views that end at the
 * position; and projections (no builds next to them), cursors and quarantine of its own, so that whoever reads or folds by
 * unqualified names meets nothing of now.
 */
export async function createSnapshotSchema(
  db: Db,
  schema: string,
  projections: readonly Projection[],
  position: Offsets,
  versions: ShownVersions,
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await sql.raw(`create schema ${schema}`).execute(trx);
    await sql.raw(`set local search_path = ${schema}`).execute(trx);
    for (const table of ['projections', 'projection_builds', 'cursors', 'quarantine'])
      await sql.raw(`create table ${table} (like public.${table} including all)`).execute(trx);
    for (const { name } of foldedIn(projections)) await sql.raw(await readFile(tablesFileOf(name), 'utf8')).execute(trx);
    if (projections.includes(journal)) await showJournal(trx, position, versions);
    await stand(trx, projections, position);
  });
}

/** Drops the snapshots of all processes: each folds again what it is asked for. */
export async function dropAllSnapshots(db: Db): Promise<void> {
  const { rows } = await sql<{ schema: string }>`
    select nspname as schema from pg_namespace where nspname ~ '^as_of_[0-9]+_[0-9]+$'`.execute(db);
  for (const { schema } of rows) await dropSnapshotSchema(db, schema);
}

/** Returns whether what a snapshot made is there: a forgetting drops it, whoever uses it. */
export async function isSnapshotThere(db: Db, schema: string): Promise<boolean> {
  const { rows } = await sql<{ there: boolean }>`select to_regnamespace(${schema}) is not null as there`.execute(db);
  return rows[0]?.there ?? false;
}

/** Drops what a snapshot made. A name that is none of ours is a bug: a schema goes with all that it holds. */
export async function dropSnapshotSchema(db: Db, schema: string): Promise<void> {
  if (!/^as_of_\d+_\d+$/.test(schema)) throw new RangeError(`${schema} is no schema of a snapshot`);
  await sql.raw(`drop schema if exists ${schema} cascade`).execute(db);
}

async function showJournal(trx: Trx, position: Offsets, versions: ShownVersions): Promise<void> {
  const nameOf = (projection: Projection) =>
    schemaNameOf(atVersion(projection, versions.get(projection.name) ?? projection.version));
  const schemaOf = (projection: Projection) => sql.raw(nameOf(projection));
  await sql`create table horizon (topic text, partition integer, next bigint, primary key (topic, partition))`.execute(trx);
  await sql`insert into horizon select topic, partition, next from ${horizon(position)}`.execute(trx);
  for (const table of ['events', 'anomalies', 'requeued_records'])
    await sql`
      create view ${sql.raw(table)} as select r.* from ${schemaOf(journal)}.${sql.raw(await viewNameOf(trx, nameOf(journal), table))} r
      join horizon h on h.topic = r.topic and h.partition = r.partition where r."offset" < h.next`.execute(trx);
  await sql.raw(`create view run_events as ${EVENTS_OF_RUNS}`).execute(trx);
  await sql`create view streams as select stream, max(position) as position from events group by stream`.execute(trx);
  await sql`
    create view stream_producers as select stream, producer, max(sequence) as sequence from events group by stream, producer`.execute(
    trx,
  );
  await sql`
    create view chain_blocks as
    select c.topic, c.partition, c.block, c.offsets[1:k.kept] as offsets, c.event_ids[1:k.kept] as event_ids,
           substring(c.digests for k.kept * 32) as digests
    from ${schemaOf(journalChain)}.chain_blocks c join horizon h on h.topic = c.topic and h.partition = c.partition,
      lateral (select count(*)::integer as kept from unnest(c.offsets) as o where o < h.next) k where k.kept > 0`.execute(trx);
}

/** Lets every projection stand at the position. */
async function stand(trx: Trx, projections: readonly Projection[], position: Offsets): Promise<void> {
  for (const projection of projections) {
    const { name, version } = projection;
    await sql`insert into projections (name, version) values (${name}, ${version})`.execute(trx);
    await sql`
      insert into cursors (projection, version, topic, partition, next_offset)
      select ${name}, ${version}::integer, topic, partition, next from ${horizon(position)}
      where topic = any(${[...topicsOf(projection)]}::text[])`.execute(trx);
  }
}
