import type { Db } from '../../postgres/database.ts';
import { readDepthTotals } from '../../projections/runs/read-run-totals.ts';
import { readTreesOfRun } from '../../projections/step-tree/read-trees-of-run.ts';
import { bar, type Lines, table } from '../terminal.ts';

/** Describes how often rollouts succeed, by the depth of their task: the numbers that GraphQL shows as `successByDepth`. */
export async function successByDepth(db: Db, runId: string): Promise<Lines> {
  const rows = await readDepthTotals(db, [runId]);
  return table(
    ['crafts needed', 'tasks', 'rollouts', 'success', '', 'steps mean', 'most'],
    rows.map((row) => [
      row.taskDepth ?? '?',
      row.tasks,
      row.finished,
      row.successRate === null ? '?' : `${(row.successRate * 100).toFixed(0)}%`,
      bar(row.successRate ?? 0),
      row.meanSteps?.toFixed(1) ?? '?',
      row.maxSteps ?? '?',
    ]),
  );
}

/** Returns the tree of a run with the most rollouts: the deep one. */
export async function deepestTree(db: Db, runId: string): Promise<string | undefined> {
  const [deepest] = [...(await readTreesOfRun(db, runId))].sort((a, b) => b.plannedRollouts - a.plannedRollouts);
  return deepest?.treeId;
}
