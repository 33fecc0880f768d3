import { sql } from 'kysely';
import { endWhenSilent } from '../../postgres/hold-transaction.ts';
import { bringServiceForward } from './bring-service-forward.ts';
import { isCompared, LeaseStateStale, NAME } from './compared.ts';
import type { LeaseServiceOptions } from './protocol.ts';

/**
 * Does work of the lease service in a database that was compared with the log. The lease service is the one place of facts that
 * are decided here and not folded: restored from an older copy it would lease batches that were trained since, under fences and
 * numbers that were used. So the first call in a database that is not the one of the last comparison first brings the lease
 * service up to the end of the log.
 * @param work asks with each of its statements whether the database was compared, and throws `NotCompared`.
 * @throws ProjectionsBehind while the read models have not folded the log again.
 */
export async function ensureSyncedWithLog<T>(options: LeaseServiceOptions, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof LeaseStateStale)) throw error;
  }
  await compare(options);
  return work();
}

async function compare(options: LeaseServiceOptions): Promise<void> {
  const { db, relay, caughtUp } = options;
  const { rows } = await sql`select 1 from lease_desk limit 1`.execute(db);
  if (rows.length > 0) {
    await relay?.flush(); // what it decided and the log does not have yet counts as well
    await caughtUp?.();
  }
  await db.transaction().execute(async (trx) => {
    // two that find it at once bring it forward once
    await endWhenSilent(trx);
    await sql`lock table desk_database in share row exclusive mode`.execute(trx);
    if (await isCompared(trx)) return;
    await bringServiceForward(trx);
    await sql`insert into desk_database (name) values (${NAME}) on conflict (one) do update set name = excluded.name`.execute(
      trx,
    );
  });
}
