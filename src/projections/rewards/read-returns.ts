import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { type OfTree, pairsOf } from '../of-tree.ts';

/** The return of a finished rollout. */
export interface ReturnRecord extends OfTree {
  readonly value: number;
}

/** Reads the returns of finished rollouts, in no order; rollouts that go on have none. */
export async function readReturns(db: Db, rollouts: readonly OfTree[]): Promise<readonly ReturnRecord[]> {
  const { rows } = await sql<ReturnRecord>`
    select r.tree_id, r.rollout_id as id, r.value
    from ${pairsOf(rollouts)} w join returns r on r.rollout_id = w.id and r.tree_id = w.tree_id`.execute(db);
  return rows;
}

/** Reads the returns of the finished rollouts of a tree: rollout → return. */
export async function readReturnsOfTree(db: Db, treeId: string): Promise<ReadonlyMap<string, number>> {
  const rows = await db.selectFrom('returns').select(['rolloutId', 'value']).where('treeId', '=', treeId).execute();
  return new Map(rows.map((row) => [row.rolloutId, row.value]));
}
