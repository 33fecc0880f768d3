import type { LeaseService } from '../../training/leases/lease-service.ts';
import type { Lease } from '../../training/leases/protocol.ts';

export interface Renewal {
  readonly service: LeaseService;
  readonly lease: Lease;
  readonly ttlMs: number;
  readonly signal: AbortSignal;
}

/**
 * Does work while its lease is kept: renewed when a third of its time is over. A renewal that is refused aborts the work, whose
 * result would be refused as well; one that fails (the database is away) is tried again at the next third.
 */
export async function whileRenewing<T>(
  { service, lease, ttlMs, signal }: Renewal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<{ readonly kind: 'done'; readonly value: T } | { readonly kind: 'lost'; readonly reason: string }> {
  const lost = new AbortController();
  let reason: string | null = null;
  let renewing: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    renewing = service.renew({ leaseId: lease.leaseId, fence: lease.fence, ttlMs }).then(
      (answer) => {
        if (answer.kind !== 'refused' || reason !== null) return;
        reason = answer.message;
        lost.abort(new Error(answer.message));
      },
      () => undefined,
    );
  }, ttlMs / 3);
  try {
    return { kind: 'done', value: await work(AbortSignal.any([signal, lost.signal])) };
  } catch (error) {
    if (reason !== null) return { kind: 'lost', reason };
    throw error;
  } finally {
    clearInterval(timer);
    await renewing;
  }
}
