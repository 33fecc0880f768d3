import type { Db } from './database.ts';

/** A restore into this installation was begun and is not finished: what it holds is a part of a record. */
export class RestoreUnfinished extends Error {
  override readonly name = 'RestoreUnfinished';
  constructor() {
    super(
      'a restore into this installation is not finished: run `espalier restore DIR` again with the same backup, which continues it; or restore into another ESPALIER_HOME, or another DATABASE_URL, ESPALIER_BLOBS or ESPALIER_OBJECTS, and ESPALIER_KAFKA_PREFIX',
    );
  }
}

/** @throws RestoreUnfinished. */
export async function refuseUnfinishedRestore(db: Db): Promise<void> {
  const unfinished = await db.selectFrom('restorations').select('manifest').where('finishedAt', 'is', null).executeTakeFirst();
  if (unfinished) throw new RestoreUnfinished();
}

/** Returns how far restores from these backups came, by the digests of their manifests. */
export async function readRestorations(db: Db): Promise<ReadonlyMap<string, 'begun' | 'finished'>> {
  const rows = await db.selectFrom('restorations').select(['manifest', 'finishedAt']).execute();
  return new Map(rows.map(({ manifest, finishedAt }) => [manifest, finishedAt === null ? 'begun' : 'finished']));
}

/** Notes that a restore begins, and that the installation is from now on the one that was backed up. */
export async function beginRestoration(db: Db, manifest: string, installation: string): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await trx
      .insertInto('restorations')
      .values({ manifest })
      .onConflict((on) => on.doNothing())
      .execute();
    await trx.updateTable('logIdentity').set({ installation }).execute();
  });
}

export async function finishRestoration(db: Db, manifest: string): Promise<void> {
  await db.updateTable('restorations').set({ finishedAt: new Date() }).where('manifest', '=', manifest).execute();
}
