import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

export interface BackUp {
  readonly treeId: string;
  readonly value: number;
  /** Root first. */
  readonly path: readonly string[];
}

/** Reads the first `limit` back-ups of searches in the order of the log. */
export async function readBackUps(db: Db, trees: readonly string[], limit: number): Promise<readonly BackUp[]> {
  const { rows } = await sql<BackUp>`
    select t.tree_id, b.value, b.path
    from unnest(${[...trees]}::uuid[]) as t(tree_id)
    cross join lateral (
      select value, path, log_offset from backups where tree_id = t.tree_id order by log_offset limit ${limit}
    ) b
    order by t.tree_id, b.log_offset`.execute(db);
  return rows;
}
