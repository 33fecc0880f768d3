import { sql } from 'kysely';
import { checkHolding, checkTtl } from './check-request.ts';
import { endExpired } from './expire.ts';
import { lockLease } from './held-lease.ts';
import { inServiceTransaction } from './in-service-transaction.ts';
import type { LeaseServiceOptions, Refused, Renewed, RenewRequest } from './protocol.ts';

/** Moves a deadline in one transaction; no event: a lease is a right, and only its beginning and its end are facts. */
export async function renewLease(options: LeaseServiceOptions, request: RenewRequest): Promise<Renewed | Refused> {
  const wrong = checkHolding(request) ?? checkTtl(request.ttlMs);
  if (wrong) return wrong;
  return inServiceTransaction(options, async (trx) => {
    const found = await lockLease(trx, request);
    if (found.kind === 'refused') return found;
    if (found.kind === 'over') {
      if (found.ranOut) await endExpired(trx, options, found.service, found.now);
      return found.refusal;
    }
    const deadline = new Date(found.now.getTime() + request.ttlMs);
    await sql`
      update lease_desk set deadline = ${deadline.toISOString()}::timestamptz
      where lineage_id = ${found.service.lineageId}::uuid`.execute(trx);
    return { kind: 'renewed', deadline };
  });
}
