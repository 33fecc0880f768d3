import DataLoader from 'dataloader';
import type { Db } from '../../src/postgres/database.ts';
import { readPaths } from '../../src/projections/step-tree/read-paths.ts';
import type { StepRecord } from '../../src/projections/step-tree/read-steps.ts';
import type { StepLoader } from './step-loader.ts';

/** Loads the path of a step, root first. The ids of all paths come in one statement, the distinct steps in a second one. */
export function createPathLoader(db: Db, step: StepLoader): DataLoader<string, readonly StepRecord[]> {
  return new DataLoader(async (leaves) => {
    const paths = await readPaths(db, leaves);
    return Promise.all(leaves.map(async (leaf) => (await step.loadMany(paths.get(leaf) ?? [])).filter((found) => isStep(found))));
  });
}

function isStep(found: StepRecord | Error | null): found is StepRecord {
  if (found instanceof Error) throw found;
  return found !== null;
}
