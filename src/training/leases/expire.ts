import { sql } from 'kysely';
import type { Trx } from '../../postgres/database.ts';
import { writeOutbox } from '../outbox/write-outbox.ts';
import { mustBeCompared } from './compared.ts';
import { inServiceTransaction } from './in-service-transaction.ts';
import { expired } from './lease-events.ts';
import type { LeaseServiceOptions } from './protocol.ts';
import { dropLease, lockExpired, readClock, type ServiceRow } from './service-row.ts';

const SLICE = 100; // rows of one transaction

/** Ends the leases whose deadline has passed by the database's clock, each with its LeaseExpired. Returns how many. */
export async function expireLeases(options: LeaseServiceOptions): Promise<number> {
  // Asked every second while nothing has run out: one statement, and none of the transaction's.
  const { rows: ranOut } = await sql`
    select 1 from lease_desk where lease_id is not null and deadline <= clock_timestamp() limit 1`.execute(options.db);
  if (ranOut.length === 0) return 0;
  let ended = 0;
  for (;;) {
    const count = await inServiceTransaction(options, async (trx) => {
      await mustBeCompared(trx);
      const rows = await lockExpired(trx, SLICE);
      if (rows.length === 0) return 0;
      const now = await readClock(trx);
      for (const service of rows) await endExpired(trx, options, service, now);
      return rows.length;
    });
    ended += count;
    if (count < SLICE) return ended;
  }
}

/** Ends the lease of a locked row. */
export async function endExpired(trx: Trx, options: LeaseServiceOptions, service: ServiceRow, now: Date): Promise<void> {
  const { lineageId, policyId, held, fence } = service;
  if (!held) return;
  await dropLease(trx, lineageId);
  const { leaseId, batchId } = held;
  await writeOutbox(trx, [expired({ lineageId, policyId, batchId, leaseId, fence })], now, options);
}
