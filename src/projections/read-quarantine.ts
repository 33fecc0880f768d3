import type { Selectable } from 'kysely';
import type { Db } from '../postgres/database.ts';
import { listOf, whereEqual } from '../postgres/keyset.ts';
import type { Ordering } from '../postgres/keyset-cursor.ts';
import type { Tables } from '../postgres/tables.ts';

/**
 * A record that a projection could not fold, with the reason; `body` is the record as it lay in the log. `requeuedOffset` is where
 * in the same partition it was requeued; null where it waits.
 */
export type QuarantineRecord = Selectable<Tables['quarantine']>;
export interface QuarantineFilter {
  readonly projection?: string;
  readonly code?: string;
  readonly requeued?: boolean;
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

/** The pages of the quarantine, and their counts. */
export const { pages: readQuarantine, counts: countQuarantine } = listOf(
  (db, filter: QuarantineFilter) => chosen(db, filter).selectAll('quarantine'),
  (row): QuarantineRecord => row,
);

function chosen(db: Db, filter: QuarantineFilter) {
  // Versions next to the live one, kept or being built, have a quarantine of their own under the name `projection@version`.
  const all = db.selectFrom('quarantine').where('projection', 'in', db.selectFrom('projections').select('name'));
  const query = whereEqual(all, 'quarantine', filter, ['projection', 'code']);
  return filter.requeued === undefined ? query : query.where('requeuedAt', filter.requeued ? 'is not' : 'is', null);
}
