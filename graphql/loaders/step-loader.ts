import type DataLoader from 'dataloader';
import type { Db } from '../../src/postgres/database.ts';
import type { OfTree } from '../../src/projections/of-tree.ts';
import { readSteps, type StepRecord } from '../../src/projections/step-tree/read-steps.ts';
import { oneOfTree } from './batch.ts';

export type StepLoader = DataLoader<OfTree, StepRecord | null, string>;

/** Loads steps. */
export function createStepLoader(db: Db): StepLoader {
  return oneOfTree((steps) => readSteps(db, steps));
}
