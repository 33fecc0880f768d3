import { sha256Hex } from '../../digest/sha256.ts';
import type { DataOf } from '../../events/catalogue.ts';
import { canonicalJson } from '../../events/codec.ts';
import type { Envelope } from '../../events/envelope.ts';
import type { Row } from '../../postgres/table.ts';
import type { Part } from './merge-rows.ts';
import type { tables } from './tables.ts';

/** The rows that the events of topic training become. */

/** The digest of what a fact says that is said once. */
function said(data: unknown): string {
  return sha256Hex(canonicalJson(data));
}

function lineageOf({ lineageId, policyId }: { readonly lineageId: string; readonly policyId: string }) {
  return { lineage_id: lineageId, policy_id: policyId };
}

export function lineageRow({ data, occurredAt }: Envelope<'TrainingDeclared'>): Row<typeof tables.lineages> {
  const { estimator, rules, seed, trainer } = data;
  return Object.assign(lineageOf(data), { estimator, rules, seed, trainer, declared_at: occurredAt, said: said(data) });
}

export function batchRow(data: DataOf<'BatchPlanned'>, plannedAt: string): Row<typeof tables.batches> {
  return {
    ...lineageOf(data),
    batch_id: data.batchId,
    ordinal: data.ordinal,
    policy_version: data.policyVersion,
    estimator: data.estimator,
    rules: data.rules,
    seed: data.seed,
    position: data.position,
    groups: data.groups.length,
    samples: data.samples,
    tokens: data.tokens,
    shards: data.shards,
    previous_hash: data.previousHash,
    manifest_hash: data.manifestHash,
    planned_at: plannedAt,
  };
}

export type BatchSampleRow = Row<typeof tables.batch_samples>;
export function batchSampleRows({ batchId, groups }: DataOf<'BatchPlanned'>): readonly BatchSampleRow[] {
  let place = 0;
  return groups.flatMap(({ treeId, rolloutIds }, group_ordinal) =>
    rolloutIds.map((rollout_id) => ({ rollout_id, batch_id: batchId, tree_id: treeId, group_ordinal, place: place++ })),
  );
}

export function rejectionRow({ data, occurredAt }: Envelope<'SampleRejected'>): Row<typeof tables.sample_rejections> {
  const { rolloutId: rollout_id, groupId: tree_id, reason, rule, measured } = data;
  return { ...lineageOf(data), rollout_id, tree_id, reason, rule, measured, rejected_at: occurredAt };
}

export const LEASE_PARTS = {
  leased: ['leased_at', 'consumer', 'deadline'],
  ended: ['ended_at', 'ended_by', 'end_reason'],
} as const;
export type LeasePart = Part<typeof tables.leases, keyof typeof LEASE_PARTS>;
type LeaseEvent = Envelope<'BatchLeased' | 'LeaseExpired' | 'BatchReturned' | 'BatchAcked'>;
export type LeaseEnd = NonNullable<Row<typeof tables.leases>['ended_by']>;
export function leasedPart(event: Envelope<'BatchLeased'>): LeasePart {
  const { consumer, deadline } = event.data;
  const values = { ...leaseOf(event), consumer, deadline, leased_at: event.occurredAt };
  return { part: 'leased', key: event.data.leaseId, values };
}
export function endedPart(event: LeaseEvent, ended_by: LeaseEnd, end_reason: string | null): LeasePart {
  const values = { ...leaseOf(event), ended_at: event.occurredAt, ended_by, end_reason };
  return { part: 'ended', key: event.data.leaseId, values };
}
/** The lease that ended with its batch; none where nobody had one. */
export function abandonedParts({ data, occurredAt }: Envelope<'BatchAbandoned'>): readonly LeasePart[] {
  const { leaseId: key, fence, batchId: batch_id, reason: end_reason } = data;
  if (key === null || fence === null) return [];
  const values = {
    ...lineageOf(data),
    batch_id,
    fence,
    ended_at: occurredAt,
    ended_by: 'abandoned' as const,
    end_reason,
  };
  return [{ part: 'ended', key, values }];
}
function leaseOf({ data }: LeaseEvent) {
  return { ...lineageOf(data), batch_id: data.batchId, fence: data.fence };
}

export function ackRow({ data, occurredAt }: Envelope<'BatchAcked'>): Row<typeof tables.batch_acks> {
  const { batchId: batch_id, leaseId: lease_id, checkpointId: checkpoint_id, version } = data;
  return Object.assign(lineageOf(data), { batch_id, lease_id, version, checkpoint_id, acked_at: occurredAt, said: said(data) });
}

export function abandonmentRow({ data, occurredAt }: Envelope<'BatchAbandoned'>): Row<typeof tables.batch_abandonments> {
  const { batchId: batch_id, ordinal, by: abandoned_by, reason } = data;
  const row = { batch_id, ordinal, abandoned_by, reason, abandoned_at: occurredAt };
  return Object.assign(lineageOf(data), row, { said: said(data) });
}

export function checkpointRow({ data, occurredAt }: Envelope<'CheckpointSaved'>): Row<typeof tables.checkpoints> {
  const { checkpointId: checkpoint_id, version, backend, weights, kept, covers } = data;
  const row = { checkpoint_id, version, backend, weights, kept, covers, saved_at: occurredAt };
  return Object.assign(lineageOf(data), row, { said: said(data) });
}

export function versionRow({ data, occurredAt }: Envelope<'PolicyUpdated'>): Row<typeof tables.policy_versions> {
  const { version, parentVersion: parent_version, batchId: batch_id, checkpointId: checkpoint_id, weights } = data;
  const { estimator, loss, samples, metrics } = data;
  const row = { version, parent_version, batch_id, checkpoint_id, weights, estimator, loss, samples, metrics };
  return Object.assign(lineageOf(data), row, { updated_at: occurredAt, said: said(data) });
}
