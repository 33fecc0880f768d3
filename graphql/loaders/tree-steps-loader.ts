import DataLoader from 'dataloader';
import type { CopiedRows } from '../../src/postgres/copied-rows.ts';
import type { Db } from '../../src/postgres/database.ts';
import {
  arePlain,
  copyStepsOfTrees,
  readStepsOfTrees,
  type StepField,
  type StepPart,
} from '../../src/projections/step-tree/read-steps.ts';
import { withLargeTexts } from '../large-text.ts';
import { groupBy } from './group-by.ts';

/** Which part of a tree: up to `limit` steps after an offset of the log, and of each the fields that are named. */
export interface TreePart {
  readonly treeId: string;
  readonly afterOffset: number;
  readonly limit: number;
  readonly fields: readonly StepField[];
  /** Nothing else is asked of the steps. */
  readonly fieldsAlone: boolean;
}

/** Steps as records, or as rows that the executor passes on where it can. */
export type StepList = readonly StepPart<never>[] | CopiedRows<StepPart<never>>;

/** Loads the steps of trees in the order in which they grew; trees of which the same part is asked come in one statement. */
export function createTreeStepsLoader(db: Db): DataLoader<TreePart, StepList, string> {
  return new DataLoader(
    async (parts) => {
      const lists = new Map<TreePart, StepList>();
      for (const [, alike] of groupBy(parts, partOf)) {
        const [part = NO_PART] = alike; // a group has at least one
        const byTree = await readParts(
          db,
          alike.map(({ treeId }) => treeId),
          part,
        );
        for (const one of alike) lists.set(one, byTree.get(one.treeId) ?? []);
      }
      return parts.map((part) => lists.get(part) ?? []);
    },
    { cacheKeyFn: (part) => `${part.treeId} ${partOf(part)}` },
  );
}

async function readParts(db: Db, trees: readonly string[], part: TreePart): Promise<ReadonlyMap<string, StepList>> {
  const { afterOffset, limit, fields, fieldsAlone } = part;
  // rows that are walked through as records take longer
  if (fieldsAlone && arePlain(fields)) return copyStepsOfTrees(db, trees, { afterOffset, limit, fields }, withLargeTexts);
  return groupBy((await readStepsOfTrees(db, trees, part)).map(withLargeTexts), ({ treeId }) => treeId);
}

function partOf({ afterOffset, limit, fields, fieldsAlone }: TreePart): string {
  return `${afterOffset} ${limit} ${fields} ${fieldsAlone}`;
}

const NO_PART: TreePart = { treeId: '', afterOffset: 0, limit: 0, fields: [], fieldsAlone: false };
