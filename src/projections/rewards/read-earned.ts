import type { Db } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';

/**
 * Reads what the environment first paid at the steps of a tree: step → reward. A revision judges the step again and is none of
 * the environment's doing. Steps that it paid nothing at are left out.
 */
export async function readEarned(db: Db, treeId: string): Promise<ReadonlyMap<string, number>> {
  const rewards = await rowsWhere(db, 'rewards', { treeId, component: 'environment' }, ['stepId', 'assignedValue'], ['rewardId']);
  const earned = new Map<string, number>();
  for (const { stepId, assignedValue: value } of rewards) if (stepId !== null && !earned.has(stepId)) earned.set(stepId, value); // of several, the first
  return earned;
}
