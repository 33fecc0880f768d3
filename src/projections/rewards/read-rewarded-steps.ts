import type { Db } from '../../postgres/database.ts';

/** Reads the ids of the steps of a tree that carry a reward. */
export async function readRewardedSteps(db: Db, treeId: string): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('rewards')
    .select('stepId')
    .where('treeId', '=', treeId)
    .where('stepId', 'is not', null)
    .execute();
  return new Set(rows.flatMap(({ stepId }) => (stepId === null ? [] : [stepId])));
}
