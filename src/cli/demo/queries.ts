import type { Db } from '../../postgres/database.ts';
import { deepestTree } from './report.ts';

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
