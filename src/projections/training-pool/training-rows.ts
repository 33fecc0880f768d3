import type { DataOf } from '../../events/catalogue.ts';
import type { Envelope } from '../../events/envelope.ts';
import type { Row } from '../../postgres/table.ts';
import type { Part } from './merge-rows.ts';
import type { tables } from './tables.ts';

/** The rows that the events of topic training become. */

function lineageOf({ lineageId, policyId }: { readonly lineageId: string; readonly policyId: string }) {
  return { lineageId, policyId };
}

export function lineageRow({ data, occurredAt }: Envelope<'TrainingDeclared'>): Row<typeof tables.lineages> {
  const { estimator, rules, seed, trainer } = data;
  return Object.assign(lineageOf(data), { estimator, rules, seed, trainer, declaredAt: occurredAt });
}

export function batchRow(data: DataOf<'BatchPlanned'>, plannedAt: string): Row<typeof tables.batches> {
  return {
    ...lineageOf(data),
    batchId: data.batchId,
    ordinal: data.ordinal,
    policyVersion: data.policyVersion,
    estimator: data.estimator,
    rules: data.rules,
    seed: data.seed,
    position: data.position,
    groups: data.groups.length,
    samples: data.samples,
    tokens: data.tokens,
    shards: data.shards,
    previousHash: data.previousHash,
    manifestHash: data.manifestHash,
    plannedAt,
  };
}

export type BatchSampleRow = Row<typeof tables.batchSamples>;
export function batchSampleRows({ batchId, policyId, groups }: DataOf<'BatchPlanned'>): readonly BatchSampleRow[] {
  let place = 0;
  return groups.flatMap(({ treeId, rolloutIds }, groupOrdinal) =>
    rolloutIds.map((rolloutId) => ({ rolloutId, batchId, policyId, treeId, groupOrdinal, place: place++ })),
  );
}

export function rejectionRow({ data, occurredAt }: Envelope<'SampleRejected'>): Row<typeof tables.sampleRejections> {
  const { rolloutId, groupId: treeId, reason, rule, measured } = data;
  return { ...lineageOf(data), rolloutId, treeId, reason, rule, measured, rejectedAt: occurredAt };
}

export const LEASE_PARTS = {
  leased: ['leasedAt', 'consumer', 'deadline'],
  ended: ['endedAt', 'endedBy', 'endReason'],
} as const;
export type LeasePart = Part<typeof tables.leases, keyof typeof LEASE_PARTS>;
type LeaseEvent = Envelope<'BatchLeased' | 'LeaseExpired' | 'BatchReturned' | 'BatchAcked'>;
export type LeaseEnd = NonNullable<Row<typeof tables.leases>['endedBy']>;
export function leasedPart(event: Envelope<'BatchLeased'>): LeasePart {
  const { consumer, deadline } = event.data;
  const values = { ...leaseOf(event), consumer, deadline, leasedAt: event.occurredAt };
  return { part: 'leased', key: leaseKey(event.data), values };
}
export function endedPart(event: LeaseEvent, endedBy: LeaseEnd, endReason: string | null): LeasePart {
  const values = { ...leaseOf(event), endedAt: event.occurredAt, endedBy, endReason };
  return { part: 'ended', key: leaseKey(event.data), values };
}
/** The lease that ended with its batch; none where nobody had one. */
export function abandonedParts({ data, occurredAt }: Envelope<'BatchAbandoned'>): readonly LeasePart[] {
  const { leaseId, fence, batchId, reason: endReason } = data;
  if (leaseId === null || fence === null) return [];
  const values = {
    ...lineageOf(data),
    batchId,
    fence,
    endedAt: occurredAt,
    endedBy: 'abandoned' as const,
    endReason,
  };
  return [{ part: 'ended', key: leaseKey({ leaseId, batchId }), values }];
}
function leaseKey({ leaseId, batchId }: Pick<Row<typeof tables.leases>, 'leaseId' | 'batchId'>) {
  return { leaseId, batchId };
}
function leaseOf({ data }: LeaseEvent) {
  return { ...lineageOf(data), batchId: data.batchId, fence: data.fence };
}

export function ackRow({ data, occurredAt }: Envelope<'BatchAcked'>): Row<typeof tables.batchAcks> {
  const { batchId, leaseId, checkpointId, version } = data;
  return Object.assign(lineageOf(data), { batchId, leaseId, version, checkpointId, ackedAt: occurredAt });
}

export function abandonmentRow({ data, occurredAt }: Envelope<'BatchAbandoned'>): Row<typeof tables.batchAbandonments> {
  const { batchId, ordinal, by: abandonedBy, reason } = data;
  const row = { batchId, ordinal, abandonedBy, reason, abandonedAt: occurredAt };
  return Object.assign(lineageOf(data), row);
}

export function checkpointRow({ data, occurredAt }: Envelope<'CheckpointSaved'>): Row<typeof tables.checkpoints> {
  const { checkpointId, version, backend, weights, kept, covers } = data;
  const row = { checkpointId, version, backend, weights, kept, covers, savedAt: occurredAt };
  return Object.assign(lineageOf(data), row);
}

export function versionRow({ data, occurredAt }: Envelope<'PolicyUpdated'>): Row<typeof tables.policyVersions> {
  const { version, parentVersion, batchId, checkpointId, weights } = data;
  const { estimator, loss, samples, metrics } = data;
  const row = { version, parentVersion, batchId, checkpointId, weights, estimator, loss, samples, metrics };
  return Object.assign(lineageOf(data), row, { updatedAt: occurredAt });
}
