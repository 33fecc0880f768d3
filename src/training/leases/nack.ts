import { writeOutbox } from '../outbox/write-outbox.ts';
import { checkHolding, invalid } from './check-request.ts';
import { dropLease } from './desk-row.ts';
import { endExpired } from './expire.ts';
import { lockLease } from './held-lease.ts';
import { inDesk } from './in-desk.ts';
import { returned } from './lease-events.ts';
import type { LeaseDeskOptions, NackRequest, Refused, Returned } from './protocol.ts';

const REASON_LIMIT = 10_000;

/** Gives a batch back in one transaction; the next lease has the next fence. */
export async function nackBatch(options: LeaseDeskOptions, request: NackRequest): Promise<Returned | Refused> {
  const wrong = checkHolding(request);
  if (wrong) return wrong;
  if (request.reason.length > REASON_LIMIT) return invalid('reason', `must have at most ${REASON_LIMIT} characters`);
  return inDesk(options, async (trx) => {
    const found = await lockLease(trx, request);
    if (found.kind === 'refused') return found;
    if (found.kind === 'over') {
      if (found.ranOut) await endExpired(trx, options, found.desk, found.now);
      return found.refusal;
    }
    const { names } = found.grant;
    await dropLease(trx, names.lineageId);
    await writeOutbox(trx, [returned(names, request.reason)], found.now, options);
    return { kind: 'returned', batchId: names.batchId };
  });
}
