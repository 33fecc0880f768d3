import DataLoader from 'dataloader';
import type { Db } from '../../src/postgres/database.ts';
import { readStepsOfTrees, type StepRecord } from '../../src/projections/step-tree/read-steps.ts';
import { withLargeTexts } from '../large-text.ts';
import { groupBy } from './group-by.ts';
import type { StepLoader } from './step-loader.ts';

/** Which part of a tree: up to `limit` steps after an offset of the log. */
export interface TreePart {
  readonly treeId: string;
  readonly afterOffset: number;
  readonly limit: number;
}

/** Loads the steps of trees in the order in which they grew; trees of which the same part is asked come in one statement. */
export function createTreeStepsLoader(db: Db, step: StepLoader): DataLoader<TreePart, readonly StepRecord[], string> {
  return new DataLoader(
    async (parts) => {
      const lists = new Map<TreePart, readonly StepRecord[]>();
      for (const alike of groupBy(parts, ({ afterOffset, limit }) => `${afterOffset} ${limit}`).values()) {
        const [{ afterOffset, limit } = { afterOffset: 0, limit: 0 }] = alike; // a group has at least one
        const trees = alike.map(({ treeId }) => treeId);
        const steps = (await readStepsOfTrees(db, trees, afterOffset, limit)).map(withLargeTexts);
        for (const found of steps) step.prime(found.id, found);
        const byTree = groupBy(steps, ({ treeId }) => treeId);
        for (const part of alike) lists.set(part, byTree.get(part.treeId) ?? []);
      }
      return parts.map((part) => lists.get(part) ?? []);
    },
    { cacheKeyFn: ({ treeId, afterOffset, limit }) => `${treeId} ${afterOffset} ${limit}` },
  );
}
