import type { BlobStore } from '../../blobs/blob-store.ts';
import type { PlanRules } from '../../domain/training/planning/plan-rules.ts';
import type { Producer } from '../../events/envelope.ts';
import type { Method } from '../../events/schemas/training.ts';
import type { BlobRef } from '../../events/schemas/values.ts';
import type { Db } from '../../postgres/database.ts';
import type { Relay } from '../outbox/relay.ts';
import { abandonBatch } from './abandon.ts';
import { ackBatch } from './ack.ts';
import { expireLeases } from './expire.ts';
import { leaseBatch } from './lease.ts';
import { nackBatch } from './nack.ts';
import { registerPolicy } from './register-policy.ts';
import { renewLease } from './renew.ts';

/**
 * The desk where trainers get batches. A batch is *planned*; a lease makes it *leased* until a deadline; then one of three: *acked* (it was
 * trained: exactly once, for ever), *returned* (its consumer gave it back), *expired* (the deadline passed). Returned and expired ones are
 * leased again under the next fence. Versions are a chain: batch n makes version v + 1 from v, and only then is batch n + 1 leased. A batch that cannot be
 * trained is *abandoned*, once and for ever: batch n + 1 is then leased on v.
 * Every change is one transaction of Postgres, by its clock, with its events in the outbox of the same transaction.
 */
export interface LeaseDesk {
  /** Registers the first version of a policy (0, without parent). Asked again with the same weights it changes nothing. */
  registerPolicy(request: RegisterRequest): Promise<Registered | Refused>;
  /**
   * Leases the next batch of a policy. A consumer that asks while it holds the lease itself was restarted: it gets the batch again under the
   * next fence, at once, and its former self is refused.
   */
  lease(request: LeaseRequest): Promise<Leased | Nothing | Refused>;
  /** Moves the deadline to `ttlMs` from now. */
  renew(request: RenewRequest): Promise<Renewed | Refused>;
  /** Says that the batch was trained and what came of it. Asked again with the same version, checkpoint and weights it gives the same answer. */
  ack(request: AckRequest): Promise<Acked | Refused>;
  /** Gives the batch back untrained. */
  nack(request: NackRequest): Promise<Returned | Refused>;
  /** Says that the next batch is never trained: by its lease, or by its id. Its lease is over, and the batch behind it is there to be leased. */
  abandon(request: AbandonRequest): Promise<Abandoned | Refused>;
  /** Ends the leases whose deadline has passed. Gives how many. */
  expire(): Promise<number>;
}

export interface LeaseDeskOptions {
  readonly db: Db;
  readonly blobs: BlobStore;
  readonly producer: Producer;
  /** Given, calls wait (for a bounded time) until their events are in the log; else they answer when these are durable in Postgres. */
  readonly relay?: Relay;
  /** How long, ms. */
  readonly relayWaitMs?: number;
  /** Waits until the read models have folded what the log holds now; before a policy's row is made from them. */
  readonly caughtUp?: () => Promise<void>;
}

export interface RegisterRequest {
  readonly policyId: string;
  readonly backend: string;
  /** SHA-256 of the weights, hex. */
  readonly weights: string;
  /** Where they are kept, when they are kept here. */
  readonly kept: BlobRef | null;
}
export interface LeaseRequest {
  readonly policyId: string;
  readonly consumer: string;
  /** How long the lease lasts unless renewed, 100 ms to one day. */
  readonly ttlMs: number;
  /** The version whose weights the trainer holds. Given, a batch is leased only if that is the newest. */
  readonly baseVersion?: number;
}
/** What is shown to prove that one holds a lease. */
export interface Holding {
  readonly leaseId: string;
  readonly fence: number;
}
export interface RenewRequest extends Holding {
  readonly ttlMs: number;
}
export interface NackRequest extends Holding {
  readonly reason: string;
}
export type AbandonRequest = { readonly reason: string } & (Holding | { readonly batchId: string });
export interface AckRequest extends Holding {
  /** The version that was made: the base version + 1. */
  readonly version: number;
  readonly checkpointId: string;
  readonly backend: string;
  readonly weights: string;
  readonly kept: BlobRef | null;
  /** How advantages were computed; the plan's estimator unless given, null where none were. */
  readonly estimator?: Method | null;
  readonly loss: Method | null;
  readonly metrics: Readonly<Record<string, number>>;
  /** The position in the log up to which the rewards that it was computed from were folded. */
  readonly rewardsAt?: string;
}

/** A version of a policy and the checkpoint that holds it. */
export interface Head {
  readonly version: number;
  readonly checkpointId: string;
  readonly backend: string;
  readonly weights: string;
  readonly kept: BlobRef | null;
}
/** A planned batch, as the desk needs it. */
export interface PlannedBatch {
  readonly batchId: string;
  readonly ordinal: number;
  readonly estimator: Method;
  readonly rules: PlanRules;
  readonly seed: number;
  readonly samples: number;
  readonly tokens: number;
  readonly manifestHash: string;
  /** What the policy's declaration tells trainers beside (backend, loss, rates); null where it was not declared. */
  readonly trainer: unknown;
}
export interface Lease extends PlannedBatch, Holding {
  readonly lineageId: string;
  readonly policyId: string;
  readonly consumer: string;
  /** By the clock of the database. */
  readonly deadline: Date;
  /** What to train from; `ack` names `base.version + 1`. */
  readonly base: Head;
}

export interface Registered {
  readonly kind: 'registered';
  readonly lineageId: string;
  /** Where the policy stands: version 0, or what was trained since. */
  readonly head: Head;
}
export interface Leased {
  readonly kind: 'leased';
  readonly lease: Lease;
}
/** No batch to be had now: none is planned, or another consumer holds the lease until `busyUntil`. */
export interface Nothing {
  readonly kind: 'nothing';
  readonly busyUntil: Date | null;
  readonly head: Head;
}
export interface Renewed {
  readonly kind: 'renewed';
  readonly deadline: Date;
}
export interface Acked {
  readonly kind: 'acked';
  readonly batchId: string;
  readonly ordinal: number;
  readonly version: number;
  readonly checkpointId: string;
}
export interface Returned {
  readonly kind: 'returned';
  readonly batchId: string;
}
export interface Abandoned {
  readonly kind: 'abandoned';
  readonly batchId: string;
  readonly ordinal: number;
}
export interface Refused {
  readonly kind: 'refused';
  readonly code: RefusalCode;
  readonly message: string;
  readonly remedy: string;
}
/**
 * - `unknown-policy`: its first version was never registered. - `unknown-lease`: no such lease was ever given.
 * - `stale-fence`: the lease is over (expired, given back, leased to another) or the fence is not its own.
 * - `stale-base`: the trainer's weights are not the newest version. - `version-conflict`: the version named is not the next of the chain.
 * - `unknown-batch`: no such batch is planned. - `not-next`: batches before it are neither trained nor abandoned.
 * - `already-acked`: the batch was trained with another result. - `already-registered`: with other weights. - `invalid`: a field is out of bounds.
 */
export type RefusalCode =
  | 'unknown-policy'
  | 'unknown-lease'
  | 'unknown-batch'
  | 'not-next'
  | 'stale-fence'
  | 'stale-base'
  | 'version-conflict'
  | 'already-acked'
  | 'already-registered'
  | 'invalid';

const RELAY_WAIT_MS = 5_000; // what is durable in Postgres is not lost; after that the relay goes on without the caller

/** Opens the desk over a database. */
export function createLeaseDesk(options: LeaseDeskOptions): LeaseDesk {
  const told = async <T extends { readonly kind: string }>(answer: Promise<T>): Promise<T> => {
    const given = await answer;
    if (given.kind !== 'nothing') await relayed(options);
    return given;
  };
  return {
    registerPolicy: (request) => told(registerPolicy(options, request)),
    lease: (request) => told(leaseBatch(options, request)),
    renew: (request) => told(renewLease(options, request)),
    ack: (request) => told(ackBatch(options, request)),
    nack: (request) => told(nackBatch(options, request)),
    abandon: (request) => told(abandonBatch(options, request)),
    expire: () => expireLeases(options),
  };
}

/** Waits until the outbox is in the log, for a bounded time. A fault of the log is the relay's to tell and to wait out. */
async function relayed({ relay, relayWaitMs = RELAY_WAIT_MS }: LeaseDeskOptions): Promise<void> {
  if (!relay) return;
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, relayWaitMs);
  });
  await Promise.race([relay.flush().catch(() => undefined), limit]);
  clearTimeout(timer);
}
