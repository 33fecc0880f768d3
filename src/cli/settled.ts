import { TOPICS } from '../events/catalogue.ts';
import type { Db } from '../postgres/database.ts';
import { waitUntilProjected } from '../projections/wait-until.ts';
import { ensureProjector } from './ensure-projector.ts';
import { withPlatform } from './with-platform.ts';

const CATCH_UP_MS = 60_000;

/** Reads something of the read models for a command, once they have folded what the log holds now. */
export function readSettled<Found>(name: string, read: (db: Db) => Promise<Found>): Promise<Found> {
  return withPlatform(name, async (platform, signal) => {
    const projector = await ensureProjector(platform);
    try {
      const { db } = platform.database;
      await waitUntilProjected(db, await platform.log.ends(TOPICS), { timeoutMs: CATCH_UP_MS, signal });
      return await read(db);
    } finally {
      await projector.close();
    }
  });
}
