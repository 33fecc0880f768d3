import type { Envelope } from '../../events/envelope.ts';
import type { Row } from '../../postgres/table.ts';
import { keyInTree } from '../of-tree.ts';
import type { tables } from './tables.ts';

/** The rows that reward facts become: one pure function per table. */
export type EdgeRow = Row<typeof tables.rewardEdges>;

export type RolloutRow = Row<typeof tables.rewardRollouts>;

type RewardRow = Omit<Row<typeof tables.rewards>, 'revisedAt'>;
export function rewardRow({ data, occurredAt }: Envelope<'RewardAssigned'>): RewardRow {
  return {
    rewardId: data.rewardId,
    treeId: data.treeId,
    stepId: data.stepId,
    rolloutId: data.rolloutId,
    component: data.component,
    value: data.value,
    assignedValue: data.value,
    scorer: data.scorer.name,
    scorerRevision: data.scorer.revision,
    raw: data.raw,
    revisions: 0,
    assignedAt: occurredAt,
  };
}

/** A revision, and the how many-th of its reward it is. */
export interface RevisedReward {
  readonly event: Envelope<'RewardRevised'>;
  readonly ordinal: number;
}

type LatestRow = Pick<
  Row<typeof tables.rewards>,
  'rewardId' | 'treeId' | 'value' | 'scorer' | 'scorerRevision' | 'revisions' | 'revisedAt'
>;
/** Returns the judgement in force of every reward that was revised: the one of its last revision. */
export function latestRows(revised: readonly RevisedReward[]): readonly LatestRow[] {
  const latest = new Map<string, LatestRow>();
  for (const { event, ordinal } of revised) {
    const { rewardId, treeId, value, scorer } = event.data;
    latest.set(keyInTree(treeId, rewardId), {
      rewardId,
      treeId,
      value,
      scorer: scorer.name,
      scorerRevision: scorer.revision,
      revisions: ordinal,
      revisedAt: event.occurredAt,
    });
  }
  return [...latest.values()];
}

export function revisionRow({ event: { id, data, occurredAt }, ordinal }: RevisedReward): Row<typeof tables.rewardRevisions> {
  return {
    eventId: id,
    rewardId: data.rewardId,
    treeId: data.treeId,
    ordinal,
    value: data.value,
    scorer: data.scorer.name,
    scorerRevision: data.scorer.revision,
    reason: data.reason,
    occurredAt,
  };
}
