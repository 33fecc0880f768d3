import { batchesTable } from './batches-table.ts';
import { rewardsTable } from './rewards-table.ts';
import { samplesTable } from './samples-table.ts';
import { stepsTable } from './steps-table.ts';
import { trajectoriesTable } from './trajectories-table.ts';

/** The tables that are read whole, by name. */
export const readableTables = {
  trajectories: trajectoriesTable,
  steps: stepsTable,
  rewards: rewardsTable,
  samples: samplesTable,
  batches: batchesTable,
} as const;
export type TableName = keyof typeof readableTables;

export function isTableName(name: string): name is TableName {
  return Object.hasOwn(readableTables, name);
}
