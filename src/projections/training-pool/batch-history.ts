import type { Method } from '../../events/schemas/training.ts';

/** A planned batch and what became of it. Its files have the same names in snake_case. */
export interface BatchRecord {
  readonly kind: 'batch';
  readonly policyId: string;
  readonly lineageId: string;
  readonly batchId: string;
  readonly ordinal: number;
  /** The newest version when it was planned. */
  readonly policyVersion: number;
  readonly estimator: Method;
  readonly rules: unknown;
  readonly seed: number;
  /** How far the planner had read. */
  readonly position: string;
  readonly tokens: number;
  readonly shards: readonly (readonly number[])[];
  readonly previousHash: string | null;
  readonly manifestHash: string;
  /** Whether the hash is that of this record, and `previousHash` that of the batch before. */
  readonly chained: boolean;
  readonly plannedAt: Date;
  /** In its order: group by group, as the shards count them. */
  readonly samples: readonly SampleRecord[];
  /** By fence. */
  readonly leases: readonly LeaseRecord[];
  /** The update that resulted from it; null while none has. */
  readonly update: UpdateRecord | null;
}

/** A rollout in a batch, as the pool knows it; null where its end was not read yet. */
export interface SampleRecord {
  readonly rolloutId: string;
  readonly treeId: string;
  readonly groupOrdinal: number;
  readonly place: number;
  readonly outcome: string | null;
  readonly success: boolean | null;
  readonly oldestVersion: number | null;
  readonly newestVersion: number | null;
  readonly sampledTokens: number | null;
  /** Component → sum of the rewards in force. */
  readonly scores: Readonly<Record<string, number>>;
}

export interface LeaseRecord {
  readonly leaseId: string;
  readonly fence: number;
  readonly consumer: string | null;
  readonly leasedAt: Date | null;
  readonly deadline: Date | null;
  readonly endedAt: Date | null;
  /** 'expired', 'returned' or 'acked'; null while it holds. */
  readonly endedBy: string | null;
  readonly endReason: string | null;
}

/** What a batch was acknowledged with. The version's own facts are null until the projection has read them. */
export interface UpdateRecord {
  readonly leaseId: string;
  readonly ackedAt: Date;
  readonly version: number;
  readonly checkpointId: string;
  readonly parentVersion: number | null;
  readonly weights: string | null;
  readonly loss: Method | null;
  readonly metrics: Readonly<Record<string, number>> | null;
}

/** A finished rollout that no batch will hold. */
export interface RejectionRecord {
  readonly kind: 'rejected';
  readonly policyId: string;
  readonly lineageId: string;
  readonly rolloutId: string;
  readonly treeId: string;
  readonly reason: string;
  readonly rule: string;
  readonly measured: number | null;
  readonly rejectedAt: Date;
}

export type HistoryRecord = BatchRecord | RejectionRecord;
