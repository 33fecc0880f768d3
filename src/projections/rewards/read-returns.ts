import type { Db } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';

/** Reads the returns of finished rollouts: rollout → return. */
export async function readReturns(db: Db, rollouts: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const rows = await rowsWhere(db, 'returns', { rolloutId: rollouts }, ['rolloutId', 'value']);
  return new Map(rows.map((row) => [row.rolloutId, row.value]));
}

/** Reads the returns of the finished rollouts of a tree: rollout → return. */
export async function readReturnsOfTree(db: Db, treeId: string): Promise<ReadonlyMap<string, number>> {
  const rows = await db.selectFrom('returns').select(['rolloutId', 'value']).where('treeId', '=', treeId).execute();
  return new Map(rows.map((row) => [row.rolloutId, row.value]));
}
