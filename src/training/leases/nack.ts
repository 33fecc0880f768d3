import { writeOutbox } from '../outbox/write-outbox.ts';
import { checkHolding, invalid } from './check-request.ts';
import { endExpired } from './expire.ts';
import { lockLease } from './held-lease.ts';
import { inServiceTransaction } from './in-service-transaction.ts';
import { returned } from './lease-events.ts';
import type { LeaseServiceOptions, NackRequest, Refused, Returned } from './protocol.ts';
import { dropLease } from './service-row.ts';

const REASON_LIMIT = 10_000;

/** Returns a batch in one transaction; the next lease has the next fence. */
export async function nackBatch(options: LeaseServiceOptions, request: NackRequest): Promise<Returned | Refused> {
  const wrong = checkHolding(request);
  if (wrong) return wrong;
  if (request.reason.length > REASON_LIMIT) return invalid('reason', `must have at most ${REASON_LIMIT} characters`);
  return inServiceTransaction(options, async (trx) => {
    const found = await lockLease(trx, request);
    if (found.kind === 'refused') return found;
    if (found.kind === 'over') {
      if (found.ranOut) await endExpired(trx, options, found.service, found.now);
      return found.refusal;
    }
    const { names } = found.grant;
    await dropLease(trx, names.lineageId);
    await writeOutbox(trx, [returned(names, request.reason)], found.now, options);
    return { kind: 'returned', batchId: names.batchId };
  });
}
