import type { Db } from '../../postgres/database.ts';
import { countEach, type Page, type PageRequest, readPages } from '../../postgres/keyset.ts';
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

/** Reads one page of all experiments. @throws InvalidCursor. */
export async function readExperiments(db: Db, ordering: Ordering, page: PageRequest): Promise<readonly Page<ExperimentRecord>[]> {
  return readPages(db, [selected(db)], ordering, page);
}

/** Counts all experiments. */
export async function countExperiments(db: Db): Promise<readonly number[]> {
  return countEach(db, [db.selectFrom('experiments')]);
}

/** Reads experiments by their ids, in one statement, in no order; ids that are unknown are left out. */
export async function readExperimentsById(db: Db, ids: readonly string[]): Promise<readonly ExperimentRecord[]> {
  return selected(db)
    .where('experimentId', 'in', [...ids])
    .execute();
}

function selected(db: Db) {
  return db.selectFrom('experiments').select(['experimentId as id', 'name', 'question', 'declaredAt as declaredAt']);
}
