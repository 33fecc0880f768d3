import type { DataOf } from '../../events/catalogue.ts';
import { decode, type Unseal } from '../../events/codec.ts';
import { derivedId } from '../../events/derived-id.ts';
import type { Db } from '../../postgres/database.ts';
import { countEach, type Page, type PageRequest, readPages } from '../../postgres/keyset.ts';
import type { Ordering } from '../../postgres/keyset-cursor.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { unsealerOf } from '../../postgres/stream-keys.ts';

/** A call that a program made of a model, as it is on record. */
export interface CapturedCall extends DataOf<'CallCaptured'> {
  readonly occurredAt: Date;
}

/** The order in which calls were answered, or failed. */
export const CALL_ORDERING: Ordering = {
  name: 'calls/RECORDED_ASC',
  direction: 'asc',
  keys: [{ column: 'events.position', type: 'integer' }],
};

/** Reads one page of the calls of each tree. @param keys where the keys of streams lie. @throws InvalidCursor. */
export async function readCallPages(
  db: Db,
  keys: Db,
  trees: readonly string[],
  page: PageRequest,
): Promise<readonly Page<CapturedCall>[]> {
  const pages = await readPages(
    db,
    trees.map((treeId) => ofTree(db, treeId).select('events.body')),
    CALL_ORDERING,
    page,
  );
  const unseal = await unsealerOf(
    keys,
    pages.flatMap(({ rows }) => rows.map(({ row }) => row.body)),
  );
  return pages.map(({ rows, ...rest }) => ({
    ...rest,
    rows: rows.flatMap(({ row, cursor }) => callsIn(row.body, unseal).map((call) => ({ row: call, cursor }))),
  }));
}

/** Counts the calls of each tree. */
export async function countCalls(db: Db, trees: readonly string[]): Promise<readonly number[]> {
  return countEach(
    db,
    trees.map((treeId) => ofTree(db, treeId)),
  );
}

/**
 * Reads the calls that became steps, by step; others are left out. The prompt of such a step names the event of its call as its
 * cause.
 */
export async function readCallsOfSteps(
  db: Db,
  keys: Db,
  trees: readonly string[],
  steps: readonly string[],
): Promise<readonly CapturedCall[]> {
  const prompts = steps.map((step) => derivedId('PromptShown', step));
  const asked = await rowsWhere(db, 'events', { stream: trees, eventId: prompts, type: 'PromptShown' }, ['body']);
  const causes = asked.flatMap(({ body }) => JSON.parse(body).causationId ?? []);
  if (causes.length === 0) return [];
  const rows = await rowsWhere(db, 'events', { stream: trees, eventId: causes, type: 'CallCaptured' }, ['body']);
  const bodies = rows.map(({ body }) => body);
  const unseal = await unsealerOf(keys, bodies);
  return bodies.flatMap((body) => callsIn(body, unseal));
}

function ofTree(db: Db, treeId: string) {
  return db.selectFrom('events').where('events.stream', '=', treeId).where('events.type', '=', 'CallCaptured');
}

/** A record that is no such event is left out: `espalier verify` names it. */
function callsIn(body: string, unseal: Unseal): readonly CapturedCall[] {
  const decoded = decode(Buffer.from(body), unseal);
  if (decoded.kind !== 'event' || decoded.event.type !== 'CallCaptured') return [];
  return [{ ...decoded.event.data, occurredAt: new Date(decoded.event.occurredAt) }];
}
