import { abandonBatch } from './abandon.ts';
import { ackBatch } from './ack.ts';
import { expireLeases, nackBatch, renewLease } from './held-lease.ts';
import { leaseBatch } from './lease.ts';
import {
  type Abandoned,
  type AbandonRequest,
  type Acked,
  type AckRequest,
  type Leased,
  type LeaseRequest,
  type LeaseServiceOptions,
  type NackRequest,
  type Nothing,
  RELAY_WAIT_MS,
  type Refused,
  type Registered,
  type RegisterRequest,
  type Renewed,
  type RenewRequest,
  type Returned,
} from './protocol.ts';
import { registerPolicy } from './register-policy.ts';

/**
 * The lease service where trainers get batches. A batch is *planned*; a lease makes it *leased* until a deadline; then one of
 * three: *acked* (it was trained: exactly once, for ever), *returned* (its consumer gave it back), *expired* (the deadline
 * passed). Returned and expired ones are leased again under the next fence. Versions are a chain: batch n makes version v + 1
 * from v, and only then is batch n + 1 leased. A batch that cannot be trained is *abandoned*, once and for ever: batch n + 1 is
 * then leased on v. Every change is one transaction of Postgres, by its clock, with its events in the log or the outbox by the
 * same transaction.
 */
export interface LeaseService {
  /** Registers the first version of a policy (0, without parent). Asked again with the same weights it changes nothing. */
  registerPolicy(request: RegisterRequest): Promise<Registered | Refused>;
  /**
   * Leases the next batch of a policy. A consumer that asks while it holds the lease itself was restarted: it gets the batch
   * again under the next fence, at once, and its former self is refused.
   */
  lease(request: LeaseRequest): Promise<Leased | Nothing | Refused>;
  /** Moves the deadline to `ttlMs` from now. */
  renew(request: RenewRequest): Promise<Renewed | Refused>;
  /**
   * Records that the batch was trained and what resulted from it. Asked again with the same version, checkpoint and weights it
   * returns the same answer.
   */
  ack(request: AckRequest): Promise<Acked | Refused>;
  /** Returns the batch untrained. */
  nack(request: NackRequest): Promise<Returned | Refused>;
  /**
   * Records that the next batch is never trained: by its lease, or by its id. Its lease is over, and the batch behind it is there
   * to be leased.
   */
  abandon(request: AbandonRequest): Promise<Abandoned | Refused>;
  /** Ends the leases whose deadline has passed. Returns how many. */
  expire(): Promise<number>;
}

/** Opens the lease service over a database. */
export function createLeaseService(options: LeaseServiceOptions): LeaseService {
  const notified = async <T extends { readonly kind: string }>(
    work: (options: LeaseServiceOptions) => Promise<T>,
  ): Promise<T> => {
    let recorded = false;
    const onRecorded = () => {
      recorded = true;
    };
    const leftMs = limitFromFirstAsked(options.relayWaitMs ?? RELAY_WAIT_MS);
    const given = await work({ ...options, onRecorded, leftMs });
    if (!recorded && given.kind !== 'nothing') await relayed(options, leftMs());
    return given;
  };
  return {
    registerPolicy: (request) => notified((own) => registerPolicy(own, request)),
    lease: (request) => notified((own) => leaseBatch(own, request)),
    renew: (request) => notified((own) => renewLease(own, request)),
    ack: (request) => notified((own) => ackBatch(own, request)),
    nack: (request) => notified((own) => nackBatch(own, request)),
    abandon: (request) => notified((own) => abandonBatch(own, request)),
    expire: () => expireLeases(options),
  };
}

/** Returns how much of a time is left, ms. It begins when that is asked first: decisions queue before they wait for the log. */
function limitFromFirstAsked(limitMs: number): () => number {
  let until: number | undefined;
  return () => {
    until ??= performance.now() + limitMs;
    return Math.max(0, until - performance.now());
  };
}

/** Waits until the outbox is in the log, for a bounded time. The relay reports a fault of the log and waits it out. */
async function relayed({ relay }: LeaseServiceOptions, limitMs: number): Promise<void> {
  if (!relay) return;
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([relay.flush().catch(() => undefined), limit]);
  clearTimeout(timer);
}
