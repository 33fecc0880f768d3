import type DataLoader from 'dataloader';
import type { Db } from '../../src/postgres/database.ts';
import { readStepsById, type StepRecord } from '../../src/projections/step-tree/read-steps.ts';
import { withLargeTexts } from '../large-text.ts';
import { one } from './batch.ts';

export type StepLoader = DataLoader<string, StepRecord | null>;

/** Loads steps by their ids. */
export function createStepLoader(db: Db): StepLoader {
  return one(
    async (ids) => (await readStepsById(db, ids)).map(withLargeTexts),
    (s) => s.id,
  );
}
