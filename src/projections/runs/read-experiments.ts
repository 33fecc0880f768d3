import type { Db } from '../../postgres/database.ts';
import { listOf } from '../../postgres/keyset.ts';
import type { Ordering } from '../../postgres/keyset-cursor.ts';

export interface ExperimentRecord {
  readonly id: string;
  readonly name: string;
  readonly question: string;
  readonly declaredAt: Date;
}

const DECLARED = [
  { column: 'experiments.declaredAt', type: 'instant' },
  { column: 'experiments.experimentId', type: 'uuid' },
] as const;
export const EXPERIMENT_ORDERINGS = {
  DECLARED_ASC: { name: 'experiments/DECLARED_ASC', direction: 'asc', keys: DECLARED },
  DECLARED_DESC: { name: 'experiments/DECLARED_DESC', direction: 'desc', keys: DECLARED },
} as const satisfies Record<string, Ordering>;

/** The pages of all experiments, and their count. */
export const { pages: readExperiments, counts: countExperiments } = listOf(
  (db, _: 'all') => selected(db),
  (row): ExperimentRecord => row,
);

/** Reads experiments by their ids, in one statement, in no order; ids that are unknown are left out. */
export async function readExperimentsById(db: Db, ids: readonly string[]): Promise<readonly ExperimentRecord[]> {
  return selected(db)
    .where('experimentId', 'in', [...ids])
    .execute();
}

function selected(db: Db) {
  return db.selectFrom('experiments').select(['experimentId as id', 'name', 'question', 'declaredAt as declaredAt']);
}
