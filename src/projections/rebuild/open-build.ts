import { readdir, readFile } from 'node:fs/promises';
import { sql } from 'kysely';
import { openSha256 } from '../../digest/sha256.ts';
import type { EventLog, Offsets } from '../../log/event-log.ts';
import type { Database, Db, Trx } from '../../postgres/database.ts';
import { endWhenSilent } from '../../postgres/hold-transaction.ts';
import { countDestroyedKeys } from '../../postgres/stream-keys.ts';
import { topicsOf } from '../concerns.ts';
import { tablesFileOf } from '../install.ts';
import { codeVersionOf, nextBuild, type Projection, schemaNameOf, shadowVersion } from '../projection.ts';
import { type Build, refuseReplaced } from './build.ts';

/**
 * Opens the unfinished build of this code, or begins one: empty tables, every cursor at 0. What other code left unfinished is
 * dropped: half of its rows and half of ours would be neither. So is what was folded before a key was destroyed: it holds what is
 * forgotten since.
 */
export async function openBuild({ db }: Database, log: Pick<EventLog, 'ends'>, projection: Projection): Promise<Build> {
  const code = await digestOf(projection);
  const ends = await log.ends(topicsOf(projection));
  return db.transaction().execute(async (trx) => {
    await endWhenSilent(trx);
    const destroyed = await countDestroyedKeys(trx);
    const digest = destroyed === 0 ? code : `${code} ${destroyed}`;
    const builds = await trx.selectFrom('projectionBuilds').selectAll().where('projection', '=', projection.name).execute();
    const live = await trx.selectFrom('projections').select('version').where('name', '=', projection.name).execute();
    let version: number | undefined;
    for (const build of builds.filter(({ state }) => state === 'building')) {
      if (codeVersionOf(build.version) === projection.version && build.digest === digest) version = build.version;
      else await dropIn(trx, projection, build.version);
    }
    const resumed = version !== undefined;
    version ??= nextBuild(
      projection.version,
      [...live, ...builds].map((taken) => taken.version),
    );
    if (!resumed) await createTables(trx, projection, version, digest);
    const shadow = shadowVersion(projection, version);
    await setCursorsEverywhere(trx, shadow, ends);
    const begunAt = await beginningOf(trx, projection, version);
    return { projection, shadow, version, begunAt, schema: schemaNameOf(shadow), resumed };
  });
}

/**
 * Returns a version that was kept into the hands of a fold, so that it can catch up. It stays `kept`: whoever is killed here
 * leaves the version to go back to, further on than before, and never rows that pass for a build.
 */
export async function reopenKeptVersion(
  { db }: Database,
  log: Pick<EventLog, 'ends'>,
  projection: Projection,
  version: number,
): Promise<Build> {
  const shadow = shadowVersion(projection, version);
  await setCursorsEverywhere(db, shadow, await log.ends(topicsOf(projection)));
  const begunAt = await beginningOf(db, projection, version);
  return { projection, shadow, version, begunAt, schema: schemaNameOf(shadow), resumed: true };
}

async function beginningOf(db: Db, { name }: Projection, version: number): Promise<string> {
  const { rows } = await sql<{ begunAt: string }>`
    select begun_at::text as begun_at from projection_builds where projection = ${name} and version = ${version}`.execute(db);
  return rows[0]?.begunAt ?? ''; // it was read or written just now
}

/** Drops a version that is not live: its tables, cursors and quarantine. */
export async function dropBuild(db: Db, projection: Projection, version: number): Promise<void> {
  await db.transaction().execute((trx) => dropIn(trx, projection, version));
}

/** Drops a build that was opened here, and no other of its number. @throws RebuildLost. */
export async function dropOwn(db: Db, build: Build): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await refuseReplaced(trx, build);
    await dropIn(trx, build.projection, build.version);
  });
}

/** Returns the digest of a projection's code, the file of its tables included. Code that it shares with others is not in it. */
export async function digestOf(projection: Projection): Promise<string> {
  const tables = tablesFileOf(projection.name);
  const folder = new URL('.', tables);
  const files = (await readdir(folder)).filter((file) => /\.(ts|sql)$/.test(file) && !file.includes('.test.')).sort();
  const hash = openSha256();
  for (const file of files) hash.update(`${file}\0`).update(await readFile(new URL(file, folder)));
  return hash.digest('hex');
}

/** Returns a cursor at 0 for every partition that has none: also what goes on may find the log grown by one. */
async function setCursorsEverywhere(db: Db, { name, version }: Projection, ends: Offsets): Promise<void> {
  for (const [topic, partitions] of ends)
    for (const partition of partitions.keys())
      await sql`
        insert into cursors (projection, version, topic, partition, next_offset)
        values (${name}, ${version}, ${topic}, ${partition}, 0)
        on conflict (projection, version, topic, partition) do nothing`.execute(db);
}

async function createTables(trx: Trx, projection: Projection, version: number, digest: string): Promise<void> {
  const schema = schemaNameOf(shadowVersion(projection, version));
  const tables = await readFile(tablesFileOf(projection.name), 'utf8');
  await sql
    .raw(`create schema ${schema}; set local search_path = ${schema}; ${tables}; set local search_path = public`)
    .execute(trx);
  await trx.insertInto('projectionBuilds').values({ projection: projection.name, version, state: 'building', digest }).execute();
}

/** The cursors go first: who folds holds the lock of one, and finds none afterwards. */
async function dropIn(trx: Trx, projection: Projection, version: number): Promise<void> {
  await endWhenSilent(trx);
  const { name } = shadowVersion(projection, version);
  await trx.deleteFrom('projectionBuilds').where('projection', '=', projection.name).where('version', '=', version).execute();
  await trx.deleteFrom('cursors').where('projection', '=', name).execute();
  await trx.deleteFrom('quarantine').where('projection', '=', name).execute();
  await sql.raw(`drop schema if exists ${schemaNameOf(shadowVersion(projection, version))} cascade`).execute(trx);
}
