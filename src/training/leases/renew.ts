import { checkHolding, checkTtl } from './check-request.ts';
import { decideOnLease } from './held-lease.ts';
import type { LeaseServiceOptions, Refused, Renewed, RenewRequest } from './protocol.ts';

/** Moves a deadline in one transaction; no event: a lease is a right, and only its beginning and its end are facts. */
export async function renewLease(options: LeaseServiceOptions, request: RenewRequest): Promise<Renewed | Refused> {
  const wrong = checkHolding(request) ?? checkTtl(request.ttlMs);
  if (wrong) return wrong;
  return decideOnLease(options, request, ({ held, service, now }) => {
    const deadline = new Date(now.getTime() + request.ttlMs);
    return { answer: { kind: 'renewed', deadline }, change: { after: { ...service, held: { ...held, deadline } }, events: [] } };
  });
}
