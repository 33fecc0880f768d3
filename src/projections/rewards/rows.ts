import type { Envelope } from '../../events/envelope.ts';

/** The rows that reward facts become: one pure function per table, with the column types of its bulk insert beside it. */
export const TREE_COLUMNS = { tree_id: 'uuid', run_id: 'uuid' };
export const EDGE_COLUMNS = { step_id: 'uuid', tree_id: 'uuid', parent_step_id: 'uuid' };
export type EdgeRow = Readonly<Record<keyof typeof EDGE_COLUMNS, string | null>>;

export interface RewardRow {
  readonly reward_id: string;
  readonly tree_id: string;
  readonly step_id: string | null;
  readonly rollout_id: string | null;
  readonly component: string;
  readonly value: number;
  readonly assigned_value: number;
  readonly scorer: string;
  readonly scorer_revision: string;
  readonly raw: object | null;
  readonly revisions: number;
  readonly assigned_at: string;
}
export const REWARD_COLUMNS: Record<keyof RewardRow, string> = {
  reward_id: 'uuid',
  tree_id: 'uuid',
  step_id: 'uuid',
  rollout_id: 'uuid',
  component: 'text',
  value: 'double precision',
  assigned_value: 'double precision',
  scorer: 'text',
  scorer_revision: 'text',
  raw: 'jsonb',
  revisions: 'integer',
  assigned_at: 'timestamptz',
};
export function rewardRow({ data, occurredAt }: Envelope<'RewardAssigned'>): RewardRow {
  return {
    reward_id: data.rewardId,
    tree_id: data.treeId,
    step_id: data.stepId,
    rollout_id: data.rolloutId,
    component: data.component,
    value: data.value,
    assigned_value: data.value,
    scorer: data.scorer.name,
    scorer_revision: data.scorer.revision,
    raw: data.raw,
    revisions: 0,
    assigned_at: occurredAt,
  };
}

export const LATEST_COLUMNS = {
  reward_id: 'uuid',
  value: 'double precision',
  scorer: 'text',
  scorer_revision: 'text',
  revisions: 'integer',
  revised_at: 'timestamptz',
};
export type LatestRow = Readonly<Record<keyof typeof LATEST_COLUMNS, unknown>>;
/** The judgement in force after the n-th revision of a reward. */
export function latestRow({ data, occurredAt }: Envelope<'RewardRevised'>, revisions: number): LatestRow {
  return {
    reward_id: data.rewardId,
    value: data.value,
    scorer: data.scorer.name,
    scorer_revision: data.scorer.revision,
    revisions,
    revised_at: occurredAt,
  };
}

export const REVISION_COLUMNS = {
  event_id: 'uuid',
  reward_id: 'uuid',
  tree_id: 'uuid',
  ordinal: 'integer',
  value: 'double precision',
  scorer: 'text',
  scorer_revision: 'text',
  reason: 'text',
  occurred_at: 'timestamptz',
};
export type RevisionRow = Readonly<Record<keyof typeof REVISION_COLUMNS, unknown>>;
export function revisionRow({ id, data, occurredAt }: Envelope<'RewardRevised'>, ordinal: number): RevisionRow {
  return {
    event_id: id,
    reward_id: data.rewardId,
    tree_id: data.treeId,
    ordinal,
    value: data.value,
    scorer: data.scorer.name,
    scorer_revision: data.scorer.revision,
    reason: data.reason,
    occurred_at: occurredAt,
  };
}
