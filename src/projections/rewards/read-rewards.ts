import { type Selectable, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { exactSum } from '../../postgres/exact-sum.ts';
import { wholeRowsWhere } from '../../postgres/rows-where.ts';
import type { Tables } from '../../postgres/tables.ts';
import { type OfTree, pairsOf } from '../of-tree.ts';

export interface RewardRecord {
  readonly id: string;
  readonly treeId: string;
  readonly stepId: string | null;
  readonly rolloutId: string | null;
  readonly component: string;
  /** The judgement in force; `assignedValue` is the first one. */
  readonly value: number;
  readonly assignedValue: number;
  readonly scorer: { readonly name: string; readonly revision: string };
  readonly raw: { readonly value: number; readonly scale: number; readonly kind: string } | null;
  readonly revisionCount: number;
  readonly assignedAt: Date;
  readonly revisedAt: Date | null;
}
export interface RewardRevisionRecord {
  readonly id: string;
  readonly treeId: string;
  readonly rewardId: string;
  readonly ordinal: number;
  readonly value: number;
  readonly scorer: { readonly name: string; readonly revision: string };
  readonly reason: string;
  readonly occurredAt: Date;
}

/** Reads the rewards on steps, oldest first. The trees of the steps narrow the search: `rewards` is indexed by tree. */
export async function readRewardsOfSteps(db: Db, trees: readonly string[], steps: readonly string[]) {
  const rows = await wholeRowsWhere(db, 'rewards', { treeId: trees, stepId: steps }, ['assignedAt', 'rewardId']);
  return rows.map(toReward);
}

/** Reads the rewards on whole rollouts (those on no step), oldest first. */
export async function readRewardsOfRollouts(db: Db, trees: readonly string[], rollouts: readonly string[]) {
  const where = { treeId: trees, stepId: null, rolloutId: rollouts };
  const rows = await wholeRowsWhere(db, 'rewards', where, ['assignedAt', 'rewardId']);
  return rows.map(toReward);
}

/** Reads the later judgements of rewards, in their order. */
export async function readRewardRevisions(db: Db, rewards: readonly OfTree[]): Promise<readonly RewardRevisionRecord[]> {
  const { rows } = await sql<Selectable<Tables['rewardRevisions']>>`
    select v.* from ${pairsOf(rewards)} w join reward_revisions v on v.reward_id = w.id and v.tree_id = w.tree_id
    order by v.tree_id, v.reward_id, v.ordinal`.execute(db);
  return rows.map((row) => ({
    id: row.eventId,
    treeId: row.treeId,
    rewardId: row.rewardId,
    ordinal: row.ordinal,
    value: row.value,
    scorer: { name: row.scorer, revision: row.scorerRevision },
    reason: row.reason,
    occurredAt: row.occurredAt,
  }));
}

function toReward(row: Selectable<Tables['rewards']>): RewardRecord {
  return {
    id: row.rewardId,
    treeId: row.treeId,
    stepId: row.stepId,
    rolloutId: row.rolloutId,
    component: row.component,
    value: row.value,
    assignedValue: row.assignedValue,
    scorer: { name: row.scorer, revision: row.scorerRevision },
    raw: row.raw,
    revisionCount: row.revisions,
    assignedAt: row.assignedAt,
    revisedAt: row.revisedAt,
  };
}

/** Sums the rewards in force on the steps of trees; steps without one are left out. */
export async function readRewardSums(
  db: Db,
  trees: readonly string[],
): Promise<readonly { readonly treeId: string; readonly stepId: string; readonly value: number }[]> {
  const { rows } = await sql<{ treeId: string; stepId: string; value: number }>`
    select tree_id, step_id, ${exactSum(sql`value`)} as value
    from rewards where tree_id = any(${[...trees]}::uuid[]) and step_id is not null group by 1, 2`.execute(db);
  return rows;
}
