import { type Selectable, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { exactSum } from '../../postgres/exact-sum.ts';
import { wholeRowsWhere } from '../../postgres/rows-where.ts';
import type { Tables } from '../../postgres/tables.ts';
import { keyInTree, type OfTree, pairsOf } from '../of-tree.ts';

interface Scorer {
  readonly scorer: { readonly name: string; readonly revision: string };
}

/** `value` is the judgement in force, `assignedValue` the first one. */
export interface RewardRecord
  extends Omit<Selectable<Tables['rewards']>, 'rewardId' | 'scorer' | 'scorerRevision' | 'revisions'>,
    Scorer {
  readonly id: string;
  readonly revisionCount: number;
}
export interface RewardRevisionRecord
  extends Omit<Selectable<Tables['rewardRevisions']>, 'eventId' | 'scorer' | 'scorerRevision'>,
    Scorer {
  readonly id: string;
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
  return rows.map(({ eventId, scorer, scorerRevision, ...row }) => {
    return { id: eventId, scorer: { name: scorer, revision: scorerRevision }, ...row };
  });
}

function toReward({ rewardId, scorer, scorerRevision, revisions, ...row }: Selectable<Tables['rewards']>): RewardRecord {
  return { id: rewardId, scorer: { name: scorer, revision: scorerRevision }, revisionCount: revisions, ...row };
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

/**
 * Reads what the environment paid at the steps of trees: `keyInTree` of a step → the sum of its rewards there. A revision judges the
 * step again and is none of the environment's doing. Steps that it paid nothing at are left out.
 */
export async function readEarned(db: Db, treeIds: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ treeId: string; stepId: string; value: number }>`
    select tree_id, step_id, ${exactSum(sql`assigned_value`)} as value
    from rewards where tree_id = any(${[...treeIds]}::uuid[]) and step_id is not null and component = 'environment'
    group by 1, 2`.execute(db);
  return new Map(rows.map(({ treeId, stepId, value }) => [keyInTree(treeId, stepId), value]));
}

/** Reads the ids of the steps of a tree that carry a reward. */
export async function readRewardedSteps(db: Db, treeId: string): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('rewards')
    .select('stepId')
    .where('treeId', '=', treeId)
    .where('stepId', 'is not', null)
    .execute();
  return new Set(rows.flatMap(({ stepId }) => (stepId === null ? [] : [stepId])));
}

/** The return of a finished rollout; null where nobody rewarded it. */
export interface ReturnRecord extends OfTree {
  readonly value: number | null;
}

/** Reads the returns of finished rollouts, in no order; rollouts that go on have none. */
export async function readReturns(db: Db, rollouts: readonly OfTree[]): Promise<readonly ReturnRecord[]> {
  const { rows } = await sql<ReturnRecord>`
    select r.tree_id, r.rollout_id as id, r.value
    from ${pairsOf(rollouts)} w join returns r on r.rollout_id = w.id and r.tree_id = w.tree_id`.execute(db);
  return rows;
}

/** Reads the returns of the finished rollouts of a tree: rollout → return, null where nobody rewarded it. */
export async function readReturnsOfTree(db: Db, treeId: string): Promise<ReadonlyMap<string, number | null>> {
  const rows = await db.selectFrom('returns').select(['rolloutId', 'value']).where('treeId', '=', treeId).execute();
  return new Map(rows.map((row) => [row.rolloutId, row.value]));
}
