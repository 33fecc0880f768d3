import type { Method } from '../../events/schemas/training.ts';

/** A planned batch and what became of it. Names are as in its files. */
export interface BatchRecord {
  readonly kind: 'batch';
  readonly policy_id: string;
  readonly lineage_id: string;
  readonly batch_id: string;
  readonly ordinal: number;
  /** The newest version when it was planned. */
  readonly policy_version: number;
  readonly estimator: Method;
  readonly rules: unknown;
  readonly seed: number;
  /** How far the planner had read. */
  readonly position: string;
  readonly tokens: number;
  readonly shards: readonly (readonly number[])[];
  readonly previous_hash: string | null;
  readonly manifest_hash: string;
  /** Whether the hash is that of this record, and `previous_hash` that of the batch before. */
  readonly chained: boolean;
  readonly planned_at: Date;
  /** In its order: group by group, as the shards count them. */
  readonly samples: readonly SampleRecord[];
  /** By fence. */
  readonly leases: readonly LeaseRecord[];
  /** The update that resulted from it; null while none has. */
  readonly update: UpdateRecord | null;
}

/** A rollout in a batch, as the pool knows it; null where its end was not read yet. */
export interface SampleRecord {
  readonly rollout_id: string;
  readonly tree_id: string;
  readonly group_ordinal: number;
  readonly place: number;
  readonly outcome: string | null;
  readonly success: boolean | null;
  readonly oldest_version: number | null;
  readonly newest_version: number | null;
  readonly sampled_tokens: number | null;
  /** Component → sum of the rewards in force. */
  readonly scores: Readonly<Record<string, number>>;
}

export interface LeaseRecord {
  readonly lease_id: string;
  readonly fence: number;
  readonly consumer: string | null;
  readonly leased_at: Date | null;
  readonly deadline: Date | null;
  readonly ended_at: Date | null;
  /** 'expired', 'returned' or 'acked'; null while it holds. */
  readonly ended_by: string | null;
  readonly end_reason: string | null;
}

/** What a batch was acknowledged with. The version's own facts are null until the projection has read them. */
export interface UpdateRecord {
  readonly lease_id: string;
  readonly acked_at: Date;
  readonly version: number;
  readonly checkpoint_id: string;
  readonly parent_version: number | null;
  readonly weights: string | null;
  readonly loss: Method | null;
  readonly metrics: Readonly<Record<string, number>> | null;
}

/** A finished rollout that no batch will hold. */
export interface RejectionRecord {
  readonly kind: 'rejected';
  readonly policy_id: string;
  readonly lineage_id: string;
  readonly rollout_id: string;
  readonly tree_id: string;
  readonly reason: string;
  readonly rule: string;
  readonly measured: number | null;
  readonly rejected_at: Date;
}

export type HistoryRecord = BatchRecord | RejectionRecord;
