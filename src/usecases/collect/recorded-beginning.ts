import type { Envelope } from '../../events/envelope.ts';
import type { Db } from '../../postgres/database.ts';
import { readEventsOfTypes } from '../../projections/journal/read-events-of-types.ts';

/** Reads the event that a run began with; null when the journal has none. */
export async function readBeginning(db: Db, runId: string): Promise<Envelope<'RunStarted'>['data'] | null> {
  const [began] = await readEventsOfTypes(db, runId, ['RunStarted']);
  return began?.data ?? null;
}
