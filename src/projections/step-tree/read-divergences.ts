import type { Selectable } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { wholeRowsWhere } from '../../postgres/rows-where.ts';
import type { Tables } from '../../postgres/tables.ts';

/** Texts are '' where `blobs` names their field: they are in the blob store. */
export interface DivergenceRecord extends Omit<Selectable<Tables['divergences']>, 'eventId'> {
  readonly id: string;
}

/** Reads what replays of trees showed instead of what was recorded, oldest first. */
export async function readDivergences(db: Db, trees: readonly string[]): Promise<readonly DivergenceRecord[]> {
  const rows = await wholeRowsWhere(db, 'divergences', { treeId: trees }, ['occurredAt', 'eventId']);
  return rows.map(({ eventId, ...row }) => ({ id: eventId, ...row }));
}
