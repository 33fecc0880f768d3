import { decode } from '../../events/codec.ts';
import type { Envelope } from '../../events/envelope.ts';
import type { Db } from '../../postgres/database.ts';

/** Reads the event that a run began with; null when the journal has none. */
export async function readBeginning(db: Db, runId: string): Promise<Envelope<'RunStarted'>['data'] | null> {
  const row = await db
    .selectFrom('events')
    .select('body')
    .where('stream', '=', runId)
    .where('type', '=', 'RunStarted')
    .orderBy('position')
    .limit(1)
    .executeTakeFirst();
  const decoded = row && decode(Buffer.from(row.body));
  return decoded?.kind === 'event' && decoded.event.type === 'RunStarted' ? decoded.event.data : null;
}
