import type { Db } from '../../postgres/database.ts';

/** Reads the returns of finished rollouts: rollout → return. */
export async function readReturns(db: Db, rollouts: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const rows = await db
    .selectFrom('returns')
    .select(['rollout_id', 'value'])
    .where('rollout_id', 'in', [...rollouts])
    .execute();
  return new Map(rows.map((row) => [row.rollout_id, row.value]));
}

/** Reads the returns of the finished rollouts of a tree: rollout → return. */
export async function readReturnsOfTree(db: Db, treeId: string): Promise<ReadonlyMap<string, number>> {
  const rows = await db.selectFrom('returns').select(['rollout_id', 'value']).where('tree_id', '=', treeId).execute();
  return new Map(rows.map((row) => [row.rollout_id, row.value]));
}
