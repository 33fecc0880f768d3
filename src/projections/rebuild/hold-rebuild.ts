import { sql } from 'kysely';
import type { Database } from '../../postgres/database.ts';
import type { Projection } from '../projection.ts';

const LOCK = 0x65_73_70_63; // with the hash of the name: one rebuild of a projection at a time

/** Another process rebuilds this projection. */
export class RebuildUnderWay extends Error {
  override readonly name = 'RebuildUnderWay';
  constructor(projection: string) {
    super(`${projection} is being rebuilt by another process; wait for it, or end it: what it has built is gone on with`);
  }
}

/**
 * Does something as the only one who builds versions of a projection. The right ends with the process, however that ends. @throws
 * RebuildUnderWay.
 */
export async function holdRebuild<T>({ db }: Database, { name }: Projection, use: () => Promise<T>): Promise<T> {
  return db.connection().execute(async (connection) => {
    const { rows } = await sql<{ held: boolean }>`select pg_try_advisory_lock(${LOCK}, hashtext(${name})) as held`.execute(
      connection,
    );
    if (!rows[0]?.held) throw new RebuildUnderWay(name);
    try {
      return await use();
    } finally {
      // a lost connection gave it back
      await sql`select pg_advisory_unlock(${LOCK}, hashtext(${name}))`.execute(connection).catch(() => undefined);
    }
  });
}
