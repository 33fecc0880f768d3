import type { Offsets } from '../log/event-log.ts';
import { topicsOf } from '../projections/concerns.ts';
import type { Projection } from '../projections/projection.ts';
import type { ProjectionStatus } from '../projections/projection-statuses.ts';

// Longer than it takes until a member of the group that is frozen or killed is replaced.
const STALLED_MS = 15_000;

/** Remembers since when each projection has records to read in a partition and does not move there. */
export interface StallWatch {
  /** Looks once more; returns the projections that have not moved for 15 s, each with what it does not read. */
  look(projections: readonly Projection[], statuses: readonly ProjectionStatus[], ends: Offsets): readonly string[];
}

/** @param clock milliseconds since any moment. */
export function watchStalls(clock: () => number = () => performance.now()): StallWatch {
  let waiting = new Map<string, { readonly cursor: number; readonly since: number }>();
  return {
    look(projections, statuses, ends) {
      const now = clock();
      const found: typeof waiting = new Map();
      const reasons: string[] = [];
      for (const projection of projections) {
        const status = statuses.find(({ name, state }) => name === projection.name && state === 'running');
        if (!status) continue; // another reason says so
        const stalled: string[] = [];
        for (const topic of topicsOf(projection))
          for (const [partition, end] of ends.get(topic) ?? []) {
            const cursor = status.cursors.get(topic)?.get(partition) ?? 0;
            if (cursor >= end) continue;
            const place = `${topic}.${partition}`;
            const before = waiting.get(`${projection.name} ${place}`);
            const since = before?.cursor === cursor ? before.since : now;
            found.set(`${projection.name} ${place}`, { cursor, since });
            if (now - since > STALLED_MS) stalled.push(place);
          }
        if (stalled.length > 0)
          reasons.push(
            `projection ${projection.name} has not moved for over ${STALLED_MS / 1_000} s on ${stalled.slice(0, 3).join(', ')}, where it has records to read; start a projection worker, and look at the log of the one that runs`,
          );
      }
      waiting = found;
      return reasons;
    },
  };
}
