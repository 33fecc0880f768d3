import type { Db } from '../../postgres/database.ts';

/**
 * Reads what the environment first paid at the steps of a tree: step → reward. A revision judges the step again and is none of
 * the environment's doing. Steps that it paid nothing at are left out.
 */
export async function readEarned(db: Db, treeId: string): Promise<ReadonlyMap<string, number>> {
  const rewards = await db
    .selectFrom('rewards')
    .select(['stepId', 'assignedValue'])
    .where('treeId', '=', treeId)
    .where('component', '=', 'environment')
    .orderBy('rewardId')
    .execute();
  const earned = new Map<string, number>();
  for (const { stepId, assignedValue: value } of rewards) if (stepId !== null && !earned.has(stepId)) earned.set(stepId, value); // of several, the first
  return earned;
}
