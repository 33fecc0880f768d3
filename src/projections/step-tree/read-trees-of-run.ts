import type { Db } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';

export interface TreeOfRun {
  readonly treeId: string;
  readonly alias: string;
  readonly environment: string;
  readonly plannedRollouts: number;
}

/** Reads the trees of a run, by id; a run that is not there has none. */
export async function readTreesOfRun(db: Db, runId: string): Promise<readonly TreeOfRun[]> {
  return rowsWhere(
    db,
    'trees',
    { runId },
    ['treeId as treeId', 'alias', 'environment', 'plannedRollouts as plannedRollouts'],
    ['treeId'],
  );
}
