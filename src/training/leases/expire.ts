import { sql } from 'kysely';
import type { Trx } from '../../postgres/database.ts';
import { writeOutbox } from '../outbox/write-outbox.ts';
import { type DeskRow, dropLease, lockExpired, readClock } from './desk-row.ts';
import { inDesk } from './in-desk.ts';
import { expired } from './lease-events.ts';
import type { LeaseDeskOptions } from './protocol.ts';

const SLICE = 100; // rows of one transaction

/** Ends the leases whose deadline has passed by the database's clock, each with its LeaseExpired. Gives how many. */
export async function expireLeases(options: LeaseDeskOptions): Promise<number> {
  // Asked every second while nothing has run out: one statement, and none of the transaction's.
  const { rows: ranOut } = await sql`
    select 1 from lease_desk where lease_id is not null and deadline <= clock_timestamp() limit 1`.execute(options.db);
  if (ranOut.length === 0) return 0;
  let ended = 0;
  for (;;) {
    const count = await inDesk(options, async (trx) => {
      const rows = await lockExpired(trx, SLICE);
      if (rows.length === 0) return 0;
      const now = await readClock(trx);
      for (const desk of rows) await endExpired(trx, options, desk, now);
      return rows.length;
    });
    ended += count;
    if (count < SLICE) return ended;
  }
}

/** Ends the lease of a locked row. */
export async function endExpired(trx: Trx, options: LeaseDeskOptions, desk: DeskRow, now: Date): Promise<void> {
  const { lineageId, policyId, held, fence } = desk;
  if (!held) return;
  await dropLease(trx, lineageId);
  const { leaseId, batchId } = held;
  await writeOutbox(trx, [expired({ lineageId, policyId, batchId, leaseId, fence })], now, options);
}
