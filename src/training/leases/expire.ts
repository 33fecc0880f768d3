import { type Change, decide } from './decide.ts';
import { expired } from './lease-events.ts';
import type { LeaseServiceOptions } from './protocol.ts';
import { readExpired, readService, type ServiceRow, withoutLease } from './service-row.ts';

const SLICE = 100; // policies of one look

/** Ends the leases whose deadline has passed by the database's clock, each with its LeaseExpired. Returns how many. */
export async function expireLeases(options: LeaseServiceOptions): Promise<number> {
  let ended = 0;
  for (;;) {
    const ranOut = await readExpired(options.db, SLICE); // every second, mostly none: the one statement of it
    for (const lineageId of ranOut) if (await expireLease(options, lineageId)) ended++;
    if (ranOut.length < SLICE) return ended;
  }
}

function expireLease(options: LeaseServiceOptions, lineageId: string): Promise<boolean> {
  return decide(
    options,
    (db, producer) => readService(db, lineageId, producer),
    ({ service, now }) => {
      const change = service?.held && service.held.deadline <= now ? expiry(service) : undefined;
      return change ? { answer: true, change } : { answer: false };
    },
  );
}

/** What the end of a lease changes whose deadline has passed; nothing where none is held. */
export function expiry(service: ServiceRow): Change | undefined {
  const { lineageId, policyId, held, fence } = service;
  if (!held) return undefined;
  const { leaseId, batchId } = held;
  return { after: withoutLease(service), events: [expired({ lineageId, policyId, batchId, leaseId, fence })] };
}
