import type { ColumnType } from 'kysely';
import type { Instant, InstantOrNull, Json } from './column-types.ts';

/** The tables of the training pool. */
type Method = { name: string; revision: string; mode: unknown };

export interface TrainingRunsTable {
  run_id: string;
  policy_id: string | null;
  channel: 'train' | 'baseline' | 'validation' | 'held-out' | null;
  started_at: InstantOrNull;
  finished_at: InstantOrNull;
}
export interface GroupsTable {
  tree_id: string;
  run_id: string | null;
  task_id: string | null;
  planned_rollouts: number | null;
  opened_at: InstantOrNull;
  closed_at: InstantOrNull;
  close_reason: string | null;
}
export interface SamplesTable {
  rollout_id: string;
  tree_id: string;
  ordinal: number | null;
  policy_id: string | null;
  policy_version: number | null;
  started_at: InstantOrNull;
  finished_at: InstantOrNull;
  outcome: 'terminated' | 'truncated' | 'failed' | 'cancelled' | null;
  success: boolean | null;
  leaf_step_id: string | null;
  taken: number;
  sampled_tokens: number;
  context_tokens: number;
  row_tokens: number;
  oldest_version: number | null;
  newest_version: number | null;
  policies: ColumnType<string[], string, string>;
  without_tokens: number;
  without_log_probs: number;
  without_anchor: number;
  scores: ColumnType<Record<string, number>, string, string>;
  scored_at: ColumnType<Record<string, number>, string, string>;
}
export interface LineagesTable {
  lineage_id: string;
  policy_id: string;
  estimator: Json;
  rules: Json;
  seed: number;
  trainer: Json;
  declared_at: Instant;
}
export interface BatchesTable {
  batch_id: string;
  lineage_id: string;
  policy_id: string;
  ordinal: number;
  policy_version: number;
  estimator: ColumnType<Method, string, string>;
  rules: Json;
  seed: number;
  position: string;
  groups: number;
  samples: number;
  tokens: number;
  shards: ColumnType<number[][], string, string>;
  previous_hash: string | null;
  manifest_hash: string;
  planned_at: Instant;
}
export interface BatchSamplesTable {
  rollout_id: string;
  batch_id: string;
  tree_id: string;
  group_ordinal: number;
  place: number;
}
export interface SampleRejectionsTable {
  rollout_id: string;
  lineage_id: string;
  policy_id: string;
  tree_id: string;
  reason: string;
  rule: string;
  measured: number | null;
  rejected_at: Instant;
}
export interface LeasesTable {
  lease_id: string;
  batch_id: string;
  lineage_id: string;
  policy_id: string;
  fence: number;
  consumer: string | null;
  deadline: InstantOrNull;
  leased_at: InstantOrNull;
  ended_at: InstantOrNull;
  ended_by: 'expired' | 'returned' | 'acked' | 'abandoned' | null;
  end_reason: string | null;
}
export interface BatchAcksTable {
  batch_id: string;
  lineage_id: string;
  policy_id: string;
  lease_id: string;
  version: number;
  checkpoint_id: string;
  acked_at: Instant;
}
export interface BatchAbandonmentsTable {
  batch_id: string;
  lineage_id: string;
  policy_id: string;
  ordinal: number;
  abandoned_by: 'trainer' | 'operator';
  reason: string;
  abandoned_at: Instant;
}
export interface CheckpointsTable {
  checkpoint_id: string;
  lineage_id: string;
  policy_id: string;
  version: number;
  backend: string;
  weights: string;
  kept: ColumnType<{ blob: string; size: number; mediaType: string } | null, string | null, string | null>;
  covers: number | null;
  saved_at: Instant;
}
export interface PolicyVersionsTable {
  lineage_id: string;
  version: number;
  policy_id: string;
  parent_version: number | null;
  batch_id: string | null;
  checkpoint_id: string;
  weights: string;
  estimator: ColumnType<Method | null, string | null, string | null>;
  loss: ColumnType<Method | null, string | null, string | null>;
  samples: number;
  metrics: ColumnType<Record<string, number>, string, string>;
  updated_at: Instant;
}
