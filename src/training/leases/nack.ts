import { checkHolding, invalid } from './check-request.ts';
import { decideOnLease } from './held-lease.ts';
import { returned } from './lease-events.ts';
import type { LeaseServiceOptions, NackRequest, Refused, Returned } from './protocol.ts';
import { withoutLease } from './service-row.ts';

const REASON_LIMIT = 10_000;

/** Returns a batch in one transaction; the next lease has the next fence. */
export async function nackBatch(options: LeaseServiceOptions, request: NackRequest): Promise<Returned | Refused> {
  const wrong = checkHolding(request);
  if (wrong) return wrong;
  if (request.reason.length > REASON_LIMIT) return invalid('reason', `must have at most ${REASON_LIMIT} characters`);
  return decideOnLease(options, request, ({ grant: { names }, service }) => ({
    answer: { kind: 'returned', batchId: names.batchId },
    change: { after: withoutLease(service), events: [returned(names, request.reason)] },
  }));
}
