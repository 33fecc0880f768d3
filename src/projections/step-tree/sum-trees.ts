import { sql } from 'kysely';
import type { Trx } from '../../postgres/database.ts';
import { sideBySide } from '../../postgres/side-by-side.ts';
import { TREE_SUMS_TABLES, writing } from './tree-sums.ts';

/** Writes the sums of closed trees, of those that closed now and again of those that grew behind their end. */
export async function sumTrees(trx: Trx, closed: readonly string[]): Promise<void> {
  if (closed.length === 0) return;
  const trees = sql`(select tree_id from unnest(${[...closed]}::uuid[]) as u (tree_id))`;
  await sideBySide(...TREE_SUMS_TABLES.map((table) => () => writing(table, trees).execute(trx)));
}
