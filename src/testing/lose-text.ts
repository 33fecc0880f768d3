import { sql } from 'kysely';
import type { Db } from '../postgres/database.ts';

/** Lets the observation of the first action of one tree of a run lie in a blob that no store holds; returns the tree. */
export async function loseText(db: Db, runId: string): Promise<string> {
  const { rows } = await sql<{ treeId: string }>`
    update steps set observation = '', blobs = jsonb_build_object('observation',
      jsonb_build_object('blob', ${'e'.repeat(64)}::text, 'size', 70000, 'mediaType', 'text/plain'))
    where (tree_id, step_id) = (
      select s.tree_id, s.step_id from steps s join trees t using (tree_id) where t.run_id = ${runId} and s.depth = 1
      order by t.opened_at, t.tree_id, s.step_id limit 1)
    returning tree_id`.execute(db);
  const [lost] = rows;
  if (!lost) throw new Error(`run ${runId} has no action`);
  return lost.treeId;
}
