import type { Envelope } from '../../events/envelope.ts';
import type { Row } from '../../postgres/table.ts';
import type { tables } from './tables.ts';

/** The rows that reward facts become: one pure function per table. */
export type EdgeRow = Row<typeof tables.reward_edges>;

type RewardRow = Omit<Row<typeof tables.rewards>, 'revised_at'>;
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

/** A revision, and the how many-th of its reward it is. */
export interface Revised {
  readonly event: Envelope<'RewardRevised'>;
  readonly ordinal: number;
}

type LatestRow = Pick<
  Row<typeof tables.rewards>,
  'reward_id' | 'value' | 'scorer' | 'scorer_revision' | 'revisions' | 'revised_at'
>;
/** Returns the judgement in force of every reward that was revised: the one of its last revision. */
export function latestRows(revised: readonly Revised[]): readonly LatestRow[] {
  const latest = new Map<string, LatestRow>();
  for (const { event, ordinal } of revised) {
    const { rewardId, value, scorer } = event.data;
    latest.set(rewardId, {
      ...{ reward_id: rewardId, value, scorer: scorer.name, scorer_revision: scorer.revision },
      ...{ revisions: ordinal, revised_at: event.occurredAt },
    });
  }
  return [...latest.values()];
}

export function revisionRow({ event: { id, data, occurredAt }, ordinal }: Revised): Row<typeof tables.reward_revisions> {
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
