import { sql } from 'kysely';
import type { Trx } from '../../postgres/database.ts';
import { endWhenSilent } from '../../postgres/hold-transaction.ts';
import { bringServiceForward } from './bring-service-forward.ts';
import { isCompared, NAME, NotCompared } from './compared.ts';
import type { LeaseServiceOptions } from './protocol.ts';

/**
 * Carries out one transaction of the lease service, in a database that was compared with the log. The lease service is the one
 * table of facts that are decided here and not folded: restored from an older copy it would lease batches that were trained
 * since, under fences and numbers that were used. So the first call in a database that is not the one of the last comparison
 * first brings the lease service up to the end of the log.
 * @param work asks first whether the database was compared: `lockService`, `lockLease` or `mustBeCompared` throw `NotCompared`.
 * @throws ProjectionsBehind while the read models have not folded the log again.
 */
export async function inServiceTransaction<T>(options: LeaseServiceOptions, work: (trx: Trx) => Promise<T>): Promise<T> {
  const attempt = () => options.db.transaction().execute(work);
  try {
    return await attempt();
  } catch (error) {
    if (!(error instanceof NotCompared)) throw error;
  }
  await compare(options);
  return attempt();
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
