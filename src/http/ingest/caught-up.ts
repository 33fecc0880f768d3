import { setTimeout as delay } from 'node:timers/promises';
import type { Topic } from '../../events/catalogue.ts';
import type { EventLog } from '../../log/event-log.ts';
import { reached } from '../../log/position.ts';
import type { Db } from '../../postgres/database.ts';
import { readProjectionStatuses } from '../../projections/projection-statuses.ts';

/** A projection that is waited for, and the topic whose end it is to reach. */
export interface Home {
  readonly projection: string;
  readonly topic: Topic;
}

const LIMIT_MS = 2_000;
const POLL_MS = 25; // a projection under load is 10–100 ms behind

/**
 * Makes the wait for read models: takes the end of the log now and polls the cursors until they are there. False when that takes
 * longer than the limit, or when a projection is stopped.
 */
export function createFolded(
  db: Db,
  log: Pick<EventLog, 'ends'>,
  limitMs = LIMIT_MS,
): (homes: readonly Home[]) => Promise<boolean> {
  return async (homes) => {
    const ends = await log.ends([...new Set(homes.map(({ topic }) => topic))]);
    const until = performance.now() + limitMs;
    for (;;) {
      const statuses = await readProjectionStatuses(db);
      const there = homes.every(({ projection, topic }) => {
        const status = statuses.find(({ name }) => name === projection);
        const target = new Map([[topic, ends.get(topic) ?? new Map<number, number>()]]);
        return status !== undefined && reached(status.cursors, target);
      });
      if (there) return true;
      const names = new Set(homes.map(({ projection }) => projection));
      if (statuses.some(({ name, state }) => names.has(name) && state === 'stopped')) return false;
      if (performance.now() >= until) return false;
      await delay(POLL_MS);
    }
  };
}
