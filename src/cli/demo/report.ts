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

/** Returns queries that show something of a run and of one in image mode, each on one line to be pasted. */
export async function queriesToTry(db: Db, runId: string, imagesId: string): Promise<readonly string[]> {
  const tree = await deepestTree(db, runId);
  return [
    `{ run(id: "${runId}") { name totals { trees rollouts successRate } successByDepth { taskDepth rollouts successRate } } }`,
    `{ trajectories(filter: { run: "${runId}", success: true }, orderBy: STEPS_DESC, first: 3) { nodes { return steps { action observation } } } }`,
    `{ tree(id: "${tree}") { task { goal } steps { depth action observation rewards { component value } } } }`,
    `{ trajectories(filter: { run: "${imagesId}" }, first: 1) { nodes { steps { action historyImage { url factor visionTokens textTokens segments { text hit } } } } } }`,
  ];
}
