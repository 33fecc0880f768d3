import DataLoader from 'dataloader';
import { groupBy } from '../../src/domain/group-by.ts';
import type { Db } from '../../src/postgres/database.ts';
import { readStepsOfTrees, type StepField, type StepPart } from '../../src/projections/step-tree/read-steps.ts';

/** Which part of a tree: up to `limit` steps after an offset of the log, and of each the fields that are named. */
export interface TreePart {
  readonly treeId: string;
  readonly afterOffset: number;
  readonly limit: number;
  readonly fields: readonly StepField[];
}

/** Loads the steps of trees in the order in which they grew; trees of which the same part is asked come in one statement. */
export function createTreeStepsLoader(db: Db): DataLoader<TreePart, readonly StepPart<never>[], string> {
  return new DataLoader(
    async (parts) => {
      const lists = new Map<TreePart, readonly StepPart<never>[]>();
      for (const [, alike] of groupBy(parts, partOf)) {
        const [part = NO_PART] = alike; // a group has at least one
        const trees = alike.map(({ treeId }) => treeId);
        const steps = await readStepsOfTrees(db, trees, part);
        const byTree = groupBy(steps, ({ treeId }) => treeId);
        for (const one of alike) lists.set(one, byTree.get(one.treeId) ?? []);
      }
      return parts.map((part) => lists.get(part) ?? []);
    },
    { cacheKeyFn: (part) => `${part.treeId} ${partOf(part)}` },
  );
}

function partOf({ afterOffset, limit, fields }: TreePart): string {
  return `${afterOffset} ${limit} ${fields}`;
}

const NO_PART: TreePart = { treeId: '', afterOffset: 0, limit: 0, fields: [] };
