import type { Db } from '../../postgres/database.ts';
import { deepestTree } from './report.ts';

/** Gives three queries that show something of a run, each on one line to be pasted. */
export async function queriesToTry(db: Db, runId: string): Promise<readonly string[]> {
  const tree = await deepestTree(db, runId);
  return [
    `{ run(id: "${runId}") { name totals { trees rollouts successRate } successByDepth { taskDepth rollouts successRate } } }`,
    `{ trajectories(filter: { run: "${runId}", success: true }, orderBy: STEPS_DESC, first: 3) { nodes { return steps { action observation } } } }`,
    `{ tree(id: "${tree}") { task { goal } steps { depth action observation rewards { component value } } } }`,
  ];
}
