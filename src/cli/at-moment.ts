import { parsePosition } from '../log/position.ts';
import type { Platform } from '../platform/open-platform.ts';
import type { Db } from '../postgres/database.ts';
import { readInstant } from '../projections/as-of/instant.ts';
import type { Moment } from '../projections/as-of/moment.ts';
import type { Entities } from '../projections/as-of/scope.ts';
import { keepSnapshots } from '../projections/as-of/snapshots.ts';
import { withProjector } from './with-projector.ts';

/** How `--as-of` is explained. */
export const AS_OF = 'as it was at a position of the log (runs.0:3,trees.2:41) or a time (ISO 8601)';

/**
 * Parses the moment of a command line. A date alone is its first instant in UTC. The empty text, which elsewhere is the position
 * of the beginning, is refused: here it is most often a variable of the shell that was never set. @throws Error that names the
 * option.
 */
export function parseMoment(text: string): Moment {
  if (text.trim() === '')
    throw new Error(
      '--as-of is empty (a variable that is not set?): it takes a position or a time such as 2026-11-21T20:00:00Z; the beginning is runs.0:0',
    );
  const read = readInstant(text);
  if (read.kind === 'instant') return { kind: 'time', time: read.time };
  if (read.kind === 'no-day') throw new Error(`--as-of takes a day of the calendar, which ${read.day} is not`);
  try {
    return { kind: 'position', position: parsePosition(text) };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new Error(`--as-of takes a position or a time such as 2026-11-21T20:00:00Z: ${error.message}`, { cause: error });
  }
}

/** Does something with the read models of now, or of a moment: then they are folded for this command and dropped after. */
export async function atMoment<T>(
  { database, directUrl, config }: Pick<Platform, 'database' | 'directUrl' | 'config'>,
  moment: Moment | undefined,
  of: Entities | 'all',
  signal: AbortSignal,
  use: (db: Db) => Promise<T>,
): Promise<T> {
  if (moment === undefined) return use(database.db);
  const snapshots = keepSnapshots(database, directUrl, { records: config.asOfLimit });
  try {
    const { db } = await snapshots.at(moment, of, signal);
    return await use(db);
  } finally {
    await snapshots.close();
  }
}

/** Reads something of the read models for a command, once they have folded what the log holds now. */
export function readSettled<Found>(name: string, read: (db: Db) => Promise<Found>): Promise<Found> {
  return withProjector(name, async ({ platform, settle }) => {
    const { db } = platform.database;
    await settle();
    return await read(db);
  });
}
