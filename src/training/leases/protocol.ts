import type { BlobStore } from '../../blobs/blob-store.ts';
import type { PlanRules } from '../../domain/training/planning/plan-rules.ts';
import type { Producer, Stamp } from '../../events/envelope.ts';
import type { Method } from '../../events/schemas/training.ts';
import type { BlobRef } from '../../events/schemas/values.ts';
import type { EventLog } from '../../log/event-log.ts';
import type { Db } from '../../postgres/database.ts';
import type { Relay } from '../outbox/relay.ts';

/** How long a call waits until its events are in the log, by default, ms. What is durable in Postgres is not lost. */
export const RELAY_WAIT_MS = 5_000;

export interface LeaseServiceOptions {
  readonly db: Db;
  readonly blobs: BlobStore;
  readonly producer: Producer;
  /** Who appends what the service decides, and for which project. */
  readonly stamp: Stamp;
  /**
   * Given, calls wait (for a bounded time) until their events are in the log; else they answer when these are durable in
   * Postgres.
   */
  readonly relay?: Relay;
  /** How long a call waits for the log, ms; after that the relay goes on without the caller. */
  readonly relayWaitMs?: number;
  /** What is left of it in this call, ms, which begins with the first wait; set by the service. */
  readonly leftMs?: () => number;
  /** Of a log that lies in the database: events are appended by the transaction that decides them, where it can. */
  readonly whilePlaced?: EventLog['whilePlaced'];
  /** Called when what was decided needs no relay. */
  readonly onRecorded?: () => void;
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
  /** Of each sampled token of the batch by the new weights: sample after sample as the manifest has them, step after step. */
  readonly logProbs?: Float32Array;
}

/** A version of a policy and the checkpoint that holds it. */
export interface Head {
  readonly version: number;
  readonly checkpointId: string;
  readonly backend: string;
  readonly weights: string;
  readonly kept: BlobRef | null;
}

/** A planned batch, as the lease service needs it. */
export interface PlannedBatch {
  readonly batchId: string;
  readonly ordinal: number;
  readonly estimator: Method;
  readonly rules: PlanRules;
  readonly seed: number;
  readonly samples: number;
  readonly tokens: number;
  readonly manifestHash: string;
  /** What the policy's declaration passes to trainers besides (backend, loss, rates); null where it was not declared. */
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
  /** The policy's newest version: 0, or what was trained since. */
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

export interface Refused {
  readonly kind: 'refused';
  readonly code: RefusalCode;
  readonly message: string;
  readonly remedy: string;
}

/**
 * - `unknown-policy`: its first version was never registered. - `unknown-lease`: no such lease was ever given.
 * - `stale-fence`: the lease is over (expired, given back, leased to another) or the fence is not its own.
 * - `stale-base`: the trainer's weights are not the newest version. - `version-conflict`: the version named is not the next of
 *   the chain.
 * - `unknown-batch`: no such batch is planned. - `not-next`: batches before it are neither trained nor abandoned.
 * - `already-acked`: the batch was trained with another result. - `already-registered`: with other weights. - `invalid`: a field
 *   is out of bounds.
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

export type AbandonRequest = { readonly reason: string } & (Holding | { readonly batchId: string });

export interface Abandoned {
  readonly kind: 'abandoned';
  readonly batchId: string;
  readonly ordinal: number;
}
