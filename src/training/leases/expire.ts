import type { Trx } from '../../postgres/database.ts';
import { writeOutbox } from '../outbox/write-outbox.ts';
import { type DeskRow, dropLease, lockExpired, readClock } from './desk-row.ts';
import type { LeaseDeskOptions } from './lease-desk.ts';
import { expired } from './lease-events.ts';

const SLICE = 100; // rows of one transaction

/** Ends the leases whose deadline has passed by the database's clock, each with its LeaseExpired. Gives how many. */
export async function expireLeases(options: LeaseDeskOptions): Promise<number> {
  let ended = 0;
  for (;;) {
    const count = await options.db.transaction().execute(async (trx) => {
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
