import type { Db } from '../postgres/database.ts';
import { countEach, type Page, type PageRequest, readPages } from '../postgres/keyset.ts';
import type { Ordering } from '../postgres/keyset-cursor.ts';

/** A record that a projection could not fold, with the reason; `body` is the record as it lay in the log. */
export interface QuarantineRecord {
  readonly projection: string;
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly eventId: string | null;
  readonly type: string | null;
  readonly stream: string | null;
  readonly code: string;
  readonly field: string;
  readonly reason: string;
  readonly body: Buffer;
  readonly quarantinedAt: Date;
  readonly releasedAt: Date | null;
  /**
   * Where in the same partition it was released; null where it waits, or a version that kept releases in this table alone
   * released it.
   */
  readonly releasedOffset: number | null;
}
export interface QuarantineFilter {
  readonly projection?: string;
  readonly code?: string;
  readonly released?: boolean;
}

const QUARANTINED = [
  { column: 'quarantine.quarantinedAt', type: 'instant' },
  { column: 'quarantine.projection', type: 'text' },
  { column: 'quarantine.topic', type: 'text' },
  { column: 'quarantine.partition', type: 'integer' },
  { column: 'quarantine.offset', type: 'integer' },
] as const;
export const QUARANTINE_ORDERING = {
  name: 'quarantine/QUARANTINED_DESC',
  direction: 'desc',
  keys: QUARANTINED,
} as const satisfies Ordering;

/** Reads one page of the quarantine, latest first. @throws InvalidCursor. */
export async function readQuarantine(
  db: Db,
  filter: QuarantineFilter,
  page: PageRequest,
): Promise<readonly Page<QuarantineRecord>[]> {
  const query = chosen(db, filter).select([
    'projection',
    'topic',
    'partition',
    'offset',
    'eventId as eventId',
    'type',
    'stream',
    'code',
    'field',
    'reason',
    'body',
    'quarantinedAt as quarantinedAt',
    'releasedAt as releasedAt',
    'releasedOffset as releasedOffset',
  ]);
  return readPages(db, [query], QUARANTINE_ORDERING, page);
}

/** Counts the quarantined records of a filter. */
export async function countQuarantine(db: Db, filter: QuarantineFilter): Promise<readonly number[]> {
  return countEach(db, [chosen(db, filter)]);
}

function chosen(db: Db, filter: QuarantineFilter) {
  // Versions next to the live one, kept or being built, have a quarantine of their own under the name `projection@version`.
  let query = db.selectFrom('quarantine').where('projection', 'in', db.selectFrom('projections').select('name'));
  if (filter.projection !== undefined) query = query.where('projection', '=', filter.projection);
  if (filter.code !== undefined) query = query.where('code', '=', filter.code);
  if (filter.released !== undefined) query = query.where('releasedAt', filter.released ? 'is not' : 'is', null);
  return query;
}
