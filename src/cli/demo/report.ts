import type { Db } from '../../postgres/database.ts';
import { readSuccessByDepth } from '../../projections/step-tree/read-success-by-depth.ts';
import { readTreesOfRun } from '../../projections/step-tree/read-trees-of-run.ts';
import { bar, type Lines, table } from '../terminal.ts';

/**
 * Describes how often rollouts succeed, by the depth of their task. @param without a tree that is left out: one that is no group.
 */
export async function successByDepth(db: Db, runId: string, without: string | undefined): Promise<Lines> {
  const rows = await readSuccessByDepth(db, runId, without ?? null);
  return table(
    ['crafts needed', 'tasks', 'rollouts', 'success', '', 'steps mean', 'most'],
    rows.map((row) => [
      row.depth ?? '?',
      row.tasks,
      row.rollouts,
      `${(row.success * 100).toFixed(0)}%`,
      bar(row.success),
      row.steps.toFixed(1),
      row.longest,
    ]),
  );
}

/** Returns the tree of a run with the most rollouts: the deep one. */
export async function deepestTree(db: Db, runId: string): Promise<string | undefined> {
  const [deepest] = [...(await readTreesOfRun(db, runId))].sort((a, b) => b.plannedRollouts - a.plannedRollouts);
  return deepest?.treeId;
}
