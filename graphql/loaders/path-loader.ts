import DataLoader from 'dataloader';
import type { Db } from '../../src/postgres/database.ts';
import type { OfTree } from '../../src/projections/of-tree.ts';
import { type PathPart, readPathParts } from '../../src/projections/step-tree/read-paths.ts';
import type { StepRecord } from '../../src/projections/step-tree/read-steps.ts';
import type { PathBudget } from './budgets.ts';
import type { StepLoader } from './step-loader.ts';

/** The whole path of a step. */
export const wholePath = ({ treeId, id }: OfTree): PathPart => ({ treeId, leaf: id, after: -1, limit: 2 ** 31 });

/**
 * Loads parts of the paths of steps, root first. How long the paths are follows from their leaves and is charged before any is
 * walked; then the ids of all come in one statement, the distinct steps in another one.
 */
export function createPathLoader(
  db: Db,
  step: StepLoader,
  budget: PathBudget,
): DataLoader<PathPart, readonly StepRecord[], string> {
  return new DataLoader(
    async (parts) => {
      const leaves = await step.loadMany(parts.map(({ treeId, leaf }) => ({ treeId, id: leaf })));
      for (const [i, { after, limit }] of parts.entries()) {
        const leaf = leaves[i] ?? null;
        const hops = isStep(leaf) ? Math.max(0, leaf.depth - after) : 0;
        budget.spend({ hops, steps: Math.min(hops, limit) });
      }
      const ids = new Map((await readPathParts(db, parts)).map((path) => [keyOf(path), path.steps]));
      return Promise.all(
        parts.map(async (part) => {
          const path = (ids.get(keyOf(part)) ?? []).map((id) => ({ treeId: part.treeId, id }));
          return (await step.loadMany(path)).filter((found) => isStep(found));
        }),
      );
    },
    { cacheKeyFn: keyOf },
  );
}

function keyOf({ treeId, leaf, after, limit }: PathPart): string {
  return `${treeId} ${leaf} ${after} ${limit}`;
}

function isStep(found: StepRecord | Error | null): found is StepRecord {
  if (found instanceof Error) throw found;
  return found !== null;
}
