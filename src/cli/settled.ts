import type { Db } from '../postgres/database.ts';
import { withProjector } from './with-projector.ts';

/** Reads something of the read models for a command, once they have folded what the log holds now. */
export function readSettled<Found>(name: string, read: (db: Db) => Promise<Found>): Promise<Found> {
  return withProjector(name, async ({ platform, settle }) => {
    const { db } = platform.database;
    await settle();
    return await read(db);
  });
}
