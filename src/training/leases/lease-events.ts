import { derivedId } from '../../events/derived-id.ts';
import type { BlobRef } from '../../events/schemas/values.ts';
import type { DerivedDraft } from '../outbox/encode-events.ts';
import type { AckRequest, Head, PlannedBatch } from './protocol.ts';

// The events of the lease service. Each id is derived from what it says happened, so a repeated append is recognised.

/** What every event of a lease names. */
export interface LeaseNames {
  readonly lineageId: string;
  readonly policyId: string;
  readonly batchId: string;
  readonly leaseId: string;
  readonly fence: number;
}

/** Returns the lease of a batch under a fence: the same at every attempt. */
export function leaseIdOf(batchId: string, fence: number): string {
  return derivedId('lease', batchId, fence);
}

export function leased(names: LeaseNames, consumer: string, deadline: Date): DerivedDraft {
  const data = { ...namesOf(names), consumer, deadline: deadline.toISOString() };
  return { type: 'BatchLeased', id: leasedId(names), correlationId: names.lineageId, data };
}

export function expired(names: LeaseNames): DerivedDraft {
  return { type: 'LeaseExpired', id: derivedId('LeaseExpired', names.leaseId), ...causedByLease(names), data: namesOf(names) };
}

export function returned(names: LeaseNames, reason: string): DerivedDraft {
  const data = { ...namesOf(names), reason };
  return { type: 'BatchReturned', id: derivedId('BatchReturned', names.leaseId), ...causedByLease(names), data };
}

/** A batch is never trained; with it ends the lease that somebody had. */
export function abandoned(
  batch: { readonly lineageId: string; readonly policyId: string; readonly batchId: string; readonly ordinal: number },
  lease: LeaseNames | null,
  by: 'trainer' | 'operator',
  reason: string,
): DerivedDraft {
  const { lineageId, policyId, batchId, ordinal } = batch;
  return {
    type: 'BatchAbandoned',
    id: derivedId('BatchAbandoned', batchId),
    correlationId: lineageId,
    causationId: lease && leasedId(lease),
    data: { lineageId, policyId, batchId, ordinal, by, reason, leaseId: lease?.leaseId ?? null, fence: lease?.fence ?? null },
  };
}

/**
 * The three facts that an acknowledgement is: the batch trained, the checkpoint that holds it, the version it made.
 * @param logProbs where those that it came with are; null without any.
 */
export function acked(
  names: LeaseNames,
  batch: PlannedBatch,
  base: Head,
  ack: AckRequest,
  logProbs: BlobRef | null,
): readonly DerivedDraft[] {
  const { lineageId, policyId, batchId } = names;
  const { version, checkpointId } = ack;
  const ackId = derivedId('BatchAcked', batchId);
  return [
    { type: 'BatchAcked', id: ackId, ...causedByLease(names), data: { ...namesOf(names), version, checkpointId } },
    {
      ...saved({ lineageId, policyId }, ack, batch.ordinal),
      causationId: ackId,
    },
    {
      type: 'PolicyUpdated',
      id: derivedId('PolicyUpdated', lineageId, version),
      correlationId: lineageId,
      causationId: ackId,
      data: {
        lineageId,
        policyId,
        version,
        parentVersion: base.version,
        batchId,
        checkpointId,
        weights: ack.weights,
        estimator: ack.estimator === undefined ? batch.estimator : ack.estimator,
        loss: ack.loss,
        samples: batch.samples,
        metrics: { ...ack.metrics },
        ...(ack.rewardsAt === undefined ? {} : { rewardsAt: ack.rewardsAt }),
        ...(logProbs === null ? {} : { logProbs }),
      },
    },
  ];
}

/** The first version of a policy: no parent, no batch. */
export function registered(
  lineage: { readonly lineageId: string; readonly policyId: string },
  head: Head,
): readonly DerivedDraft[] {
  const { version, checkpointId, weights } = head;
  const checkpoint = saved(lineage, head, null);
  return [
    checkpoint,
    {
      type: 'PolicyUpdated',
      id: derivedId('PolicyUpdated', lineage.lineageId, version),
      correlationId: lineage.lineageId,
      causationId: checkpoint.id,
      data: {
        ...lineage,
        version,
        parentVersion: null,
        batchId: null,
        checkpointId,
        weights,
        estimator: null,
        loss: null,
        samples: 0,
        metrics: {},
      },
    },
  ];
}

function saved(
  { lineageId, policyId }: Pick<LeaseNames, 'lineageId' | 'policyId'>,
  head: Head,
  covers: number | null,
): DerivedDraft {
  const { checkpointId, version, backend, weights, kept } = head;
  return {
    type: 'CheckpointSaved',
    id: derivedId('CheckpointSaved', lineageId, checkpointId),
    correlationId: lineageId,
    data: { lineageId, policyId, checkpointId, version, backend, weights, kept, covers },
  };
}

function leasedId({ leaseId }: LeaseNames): string {
  return derivedId('BatchLeased', leaseId);
}

function causedByLease(names: LeaseNames) {
  return { correlationId: names.lineageId, causationId: leasedId(names) };
}

/** Only these: what is passed in may carry more, and events are strict. */
function namesOf({ lineageId, policyId, batchId, leaseId, fence }: LeaseNames): LeaseNames {
  return { lineageId, policyId, batchId, leaseId, fence };
}
