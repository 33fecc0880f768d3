import { createHash } from 'node:crypto';
import type { DataOf } from '../../events/catalogue.ts';
import { canonicalJson } from '../../events/codec.ts';
import type { Envelope } from '../../events/envelope.ts';
import type { Part, PartColumns } from './merge-rows.ts';

/** The rows that the events of topic training become, with the column types of their bulk writes beside them. */

/** A row of a fact that is told once; `said` is the digest of what it says. */
export interface SaidRow {
  readonly said: string;
}
function said(data: unknown): string {
  return createHash('sha256').update(canonicalJson(data)).digest('hex');
}

const LINEAGE = { lineage_id: 'uuid', policy_id: 'text' };
function lineageOf({ lineageId, policyId }: { readonly lineageId: string; readonly policyId: string }) {
  return { lineage_id: lineageId, policy_id: policyId };
}

export const LINEAGE_COLUMNS: Record<string, string> = {
  ...LINEAGE,
  estimator: 'jsonb',
  rules: 'jsonb',
  seed: 'bigint',
  trainer: 'jsonb',
  declared_at: 'timestamptz',
  said: 'text',
};
export function lineageRow({ data, occurredAt }: Envelope<'TrainingDeclared'>): SaidRow {
  const { estimator, rules, seed, trainer } = data;
  return Object.assign(lineageOf(data), { estimator, rules, seed, trainer, declared_at: occurredAt, said: said(data) });
}

export const BATCH_COLUMNS: Record<string, string> = {
  ...LINEAGE,
  batch_id: 'uuid',
  ordinal: 'integer',
  policy_version: 'integer',
  estimator: 'jsonb',
  rules: 'jsonb',
  seed: 'bigint',
  position: 'text',
  groups: 'integer',
  samples: 'integer',
  tokens: 'bigint',
  shards: 'jsonb',
  previous_hash: 'text',
  manifest_hash: 'text',
  planned_at: 'timestamptz',
};
export function batchRow(data: DataOf<'BatchPlanned'>, plannedAt: string): object {
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

export const BATCH_SAMPLE_COLUMNS = {
  rollout_id: 'uuid',
  batch_id: 'uuid',
  tree_id: 'uuid',
  group_ordinal: 'integer',
  place: 'integer',
};
export type BatchSampleRow = Record<keyof typeof BATCH_SAMPLE_COLUMNS, unknown> & { readonly rollout_id: string };
export function batchSampleRows({ batchId, groups }: DataOf<'BatchPlanned'>): readonly BatchSampleRow[] {
  let place = 0;
  return groups.flatMap(({ treeId, rolloutIds }, group_ordinal) =>
    rolloutIds.map((rollout_id) => ({ rollout_id, batch_id: batchId, tree_id: treeId, group_ordinal, place: place++ })),
  );
}

export const REJECTION_COLUMNS: Record<string, string> = {
  ...LINEAGE,
  rollout_id: 'uuid',
  tree_id: 'uuid',
  reason: 'text',
  rule: 'text',
  measured: 'double precision',
  rejected_at: 'timestamptz',
};
export function rejectionRow({ data, occurredAt }: Envelope<'SampleRejected'>): object {
  const { rolloutId: rollout_id, groupId: tree_id, reason, rule, measured } = data;
  return { ...lineageOf(data), rollout_id, tree_id, reason, rule, measured, rejected_at: occurredAt };
}

export const LEASE_PARTS: PartColumns = {
  shared: { ...LINEAGE, batch_id: 'uuid', fence: 'bigint' },
  parts: {
    leased: { marker: 'leased_at', columns: { consumer: 'text', deadline: 'timestamptz', leased_at: 'timestamptz' } },
    ended: { marker: 'ended_at', columns: { ended_at: 'timestamptz', ended_by: 'text', end_reason: 'text' } },
  },
};
type LeaseEvent = Envelope<'BatchLeased' | 'LeaseExpired' | 'BatchReturned' | 'BatchAcked'>;
export type LeaseEnd = 'expired' | 'returned' | 'acked' | 'abandoned';
export function leasedPart(event: Envelope<'BatchLeased'>): Part {
  const { consumer, deadline } = event.data;
  const values = { ...leaseOf(event), consumer, deadline, leased_at: event.occurredAt };
  return { part: 'leased', key: event.data.leaseId, values };
}
export function endedPart(event: LeaseEvent, ended_by: LeaseEnd, end_reason: string | null): Part {
  const values = { ...leaseOf(event), ended_at: event.occurredAt, ended_by, end_reason };
  return { part: 'ended', key: event.data.leaseId, values };
}
/** The lease that ended with its batch; none where nobody had one. */
export function abandonedParts({ data, occurredAt }: Envelope<'BatchAbandoned'>): readonly Part[] {
  const { leaseId: key, fence, batchId: batch_id, reason: end_reason } = data;
  if (key === null || fence === null) return [];
  const values = {
    ...lineageOf(data),
    batch_id,
    fence,
    ended_at: occurredAt,
    ended_by: 'abandoned' satisfies LeaseEnd,
    end_reason,
  };
  return [{ part: 'ended', key, values }];
}
function leaseOf({ data }: LeaseEvent) {
  return { ...lineageOf(data), batch_id: data.batchId, fence: data.fence };
}

export const ACK_COLUMNS: Record<string, string> = {
  ...LINEAGE,
  batch_id: 'uuid',
  lease_id: 'uuid',
  version: 'integer',
  checkpoint_id: 'uuid',
  acked_at: 'timestamptz',
  said: 'text',
};
export function ackRow({ data, occurredAt }: Envelope<'BatchAcked'>): SaidRow {
  const { batchId: batch_id, leaseId: lease_id, checkpointId: checkpoint_id, version } = data;
  return Object.assign(lineageOf(data), { batch_id, lease_id, version, checkpoint_id, acked_at: occurredAt, said: said(data) });
}

export const ABANDONMENT_COLUMNS: Record<string, string> = {
  ...LINEAGE,
  batch_id: 'uuid',
  ordinal: 'integer',
  abandoned_by: 'text',
  reason: 'text',
  abandoned_at: 'timestamptz',
  said: 'text',
};
export function abandonmentRow({ data, occurredAt }: Envelope<'BatchAbandoned'>): SaidRow {
  const { batchId: batch_id, ordinal, by: abandoned_by, reason } = data;
  const row = { batch_id, ordinal, abandoned_by, reason, abandoned_at: occurredAt };
  return Object.assign(lineageOf(data), row, { said: said(data) });
}

export const CHECKPOINT_COLUMNS: Record<string, string> = {
  ...LINEAGE,
  checkpoint_id: 'uuid',
  version: 'integer',
  backend: 'text',
  weights: 'text',
  kept: 'jsonb',
  covers: 'integer',
  saved_at: 'timestamptz',
  said: 'text',
};
export function checkpointRow({ data, occurredAt }: Envelope<'CheckpointSaved'>): SaidRow {
  const { checkpointId: checkpoint_id, version, backend, weights, kept, covers } = data;
  const row = { checkpoint_id, version, backend, weights, kept, covers, saved_at: occurredAt };
  return Object.assign(lineageOf(data), row, { said: said(data) });
}

export const VERSION_COLUMNS: Record<string, string> = {
  ...LINEAGE,
  version: 'integer',
  parent_version: 'integer',
  batch_id: 'uuid',
  checkpoint_id: 'uuid',
  weights: 'text',
  estimator: 'jsonb',
  loss: 'jsonb',
  samples: 'integer',
  metrics: 'jsonb',
  updated_at: 'timestamptz',
  said: 'text',
};
export function versionRow({ data, occurredAt }: Envelope<'PolicyUpdated'>): SaidRow {
  const { version, parentVersion: parent_version, batchId: batch_id, checkpointId: checkpoint_id, weights } = data;
  const { estimator, loss, samples, metrics } = data;
  const row = { version, parent_version, batch_id, checkpoint_id, weights, estimator, loss, samples, metrics };
  return Object.assign(lineageOf(data), row, { updated_at: occurredAt, said: said(data) });
}
