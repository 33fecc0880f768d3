import type { Topic } from '../events/catalogue.ts';
import type { EventLog } from '../log/event-log.ts';
import type { Db } from '../postgres/database.ts';
import type { Projection } from '../projections/projection.ts';
import { ProjectionsBehind, waitUntilProjected } from '../projections/wait-until.ts';

const LIMIT_MS = 2_000;

export interface CatchUpWorld {
  readonly db: Db;
  readonly log: Pick<EventLog, 'ends'>;
  /** How long to wait. */
  readonly catchUpMs?: number;
}

/** Waits, within a limit, until a projection has folded all that some topics hold now; returns whether it has. */
export async function caughtUp(
  { db, log, catchUpMs = LIMIT_MS }: CatchUpWorld,
  projection: Projection,
  topics: readonly Topic[],
): Promise<boolean> {
  const ends = await log.ends(topics);
  try {
    await waitUntilProjected(db, ends, { timeoutMs: catchUpMs, projections: [projection] });
    return true;
  } catch (error) {
    if (error instanceof ProjectionsBehind) return false;
    throw error;
  }
}
