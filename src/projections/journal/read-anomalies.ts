import type { Selectable } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { listOf, whereEqual } from '../../postgres/keyset.ts';
import type { Ordering } from '../../postgres/keyset-cursor.ts';
import type { Tables } from '../../postgres/tables.ts';

export type AnomalyRecord = Selectable<Tables['anomalies']>;
export interface AnomalyFilter {
  readonly kind?: AnomalyRecord['kind'];
  readonly stream?: string;
}

export const ANOMALIES_BY_OFFSET = {
  name: 'anomalies/OFFSET',
  direction: 'asc',
  keys: [
    { column: 'anomalies.topic', type: 'text' },
    { column: 'anomalies.partition', type: 'integer' },
    { column: 'anomalies.offset', type: 'integer' },
  ],
} as const satisfies Ordering;

/** The pages of what the journal saw that should not be, and their counts. */
export const { pages: readAnomalies, counts: countAnomalies } = listOf(
  (db, filter: AnomalyFilter) => whereEqual(db.selectFrom('anomalies'), 'anomalies', filter, ['kind', 'stream']).selectAll(),
  (row): AnomalyRecord => row,
);

/** Counts all anomalies by kind; a kind that was never seen is left out. */
export async function countAnomaliesByKind(db: Db): Promise<ReadonlyMap<AnomalyRecord['kind'], number>> {
  const rows = await db
    .selectFrom('anomalies')
    .select(({ fn }) => ['kind', fn.countAll<number>().as('seen')])
    .groupBy('kind')
    .execute();
  return new Map(rows.map(({ kind, seen }) => [kind, seen]));
}
