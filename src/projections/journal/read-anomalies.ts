import type { Db } from '../../postgres/database.ts';
import { countEach, type Page, type PageRequest, readPages } from '../../postgres/keyset.ts';
import type { Ordering } from '../../postgres/keyset-cursor.ts';

export interface AnomalyRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly eventId: string;
  readonly stream: string;
  readonly kind: 'duplicate' | 'gap' | 'reordered' | 'superseded';
  readonly detail: string;
}
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

/** Reads one page of what the journal saw that should not be, in the order of the log. @throws InvalidCursor. */
export async function readAnomalies(db: Db, filter: AnomalyFilter, page: PageRequest): Promise<readonly Page<AnomalyRecord>[]> {
  const columns = ['topic', 'partition', 'offset', 'eventId as eventId', 'stream', 'kind', 'detail'] as const;
  return readPages(db, [chosen(db, filter).select(columns)], ANOMALIES_BY_OFFSET, page);
}

/** Counts the anomalies of a filter. */
export async function countAnomalies(db: Db, filter: AnomalyFilter): Promise<readonly number[]> {
  return countEach(db, [chosen(db, filter)]);
}

/** Counts all anomalies by kind; a kind that was never seen is left out. */
export async function countAnomaliesByKind(db: Db): Promise<ReadonlyMap<AnomalyRecord['kind'], number>> {
  const rows = await db
    .selectFrom('anomalies')
    .select(({ fn }) => ['kind', fn.countAll<number>().as('seen')])
    .groupBy('kind')
    .execute();
  return new Map(rows.map(({ kind, seen }) => [kind, seen]));
}

function chosen(db: Db, filter: AnomalyFilter) {
  let query = db.selectFrom('anomalies');
  if (filter.kind !== undefined) query = query.where('kind', '=', filter.kind);
  if (filter.stream !== undefined) query = query.where('stream', '=', filter.stream);
  return query;
}
