import type { Envelope } from '../../events/envelope.ts';
import type { Row } from '../../postgres/table.ts';
import type { tables } from './tables.ts';

/** The rows that reward facts become: one pure function per table. */
export type EdgeRow = Row<typeof tables.reward_edges>;

export type RewardRow = Omit<Row<typeof tables.rewards>, 'revised_at'>;
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

export type LatestRow = Pick<
  Row<typeof tables.rewards>,
  'reward_id' | 'value' | 'scorer' | 'scorer_revision' | 'revisions' | 'revised_at'
>;
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

export type RevisionRow = Row<typeof tables.reward_revisions>;
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
