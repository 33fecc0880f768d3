import { sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';

const LETTERS = 80; // of an action: what fits next to a node

/** What a drawing of a tree shows of a step. */
export interface OutlineStep {
  readonly id: string;
  readonly parentId: string | null;
  readonly action: string;
  readonly executable: boolean;
  readonly termination: 'none' | 'terminated' | 'truncated';
}

/** The steps of one tree, parents before children. */
export interface Outline {
  readonly treeId: string;
  readonly steps: readonly OutlineStep[];
}

/** Reads the first `limit` steps of trees in the order in which they grew, with no more of each than a drawing shows. */
export async function readOutlines(db: Db, trees: readonly string[], limit: number): Promise<ReadonlyMap<string, Outline>> {
  const { rows } = await sql<OutlineStep & { readonly treeId: string }>`
    select t.tree_id, s.step_id as id, s.parent_step_id as parent_id, s.action, s.executable, s.termination
    from unnest(${[...trees]}::uuid[]) as t(tree_id)
    cross join lateral (
      select step_id, parent_step_id, left(action, ${LETTERS}) as action, executable, termination, log_offset
      from steps where tree_id = t.tree_id order by log_offset limit ${limit}
    ) s
    order by t.tree_id, s.log_offset`.execute(db);
  const found = new Map(trees.map((treeId) => [treeId, { treeId, steps: [] as OutlineStep[] }]));
  for (const { treeId, ...step } of rows) found.get(treeId)?.steps.push(step);
  return found;
}
