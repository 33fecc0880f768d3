import type { EventType } from '../../events/catalogue.ts';
import { decode } from '../../events/codec.ts';
import type { Envelope } from '../../events/envelope.ts';
import type { Db } from '../../postgres/database.ts';
import { rowsWhere } from '../../postgres/rows-where.ts';
import { unsealerOf } from '../../postgres/stream-keys.ts';

/**
 * Reads the events of a stream that are of some types, in the order of the journal. A record that is no event of them is left
 * out: `espalier verify` names it.
 */
export async function readEventsOfTypes<T extends EventType>(
  db: Db,
  stream: string,
  types: readonly T[],
): Promise<readonly Envelope<T>[]> {
  const rows = await rowsWhere(db, 'events', { stream, type: types }, ['body'], ['position']);
  const unseal = await unsealerOf(
    db,
    rows.map(({ body }) => body),
  );
  return rows.flatMap(({ body }) => {
    const decoded = decode(Buffer.from(body), unseal);
    return decoded.kind === 'event' && isOf(decoded.event, types) ? [decoded.event] : [];
  });
}

function isOf<T extends EventType>(event: Envelope, types: readonly T[]): event is Extract<Envelope, Envelope<T>> & Envelope<T> {
  return types.some((type) => type === event.type);
}
