// Longer than a group takes to share its partitions again, and than one that reads in order is away.
const UNREAD_MS = 15_000;

/** Remembers since when nobody reads a partition. */
export interface UnreadWatch {
  /** Looks once more; returns what is wrong where partitions were read by nobody for 15 s. */
  look(unread: ReadonlyMap<string, readonly number[]>): readonly string[];
}

/**
 * Watches whether somebody would project a record that comes now. A frozen or missing projector is not seen by what it does not
 * read as long as nothing is appended (`stalled-projections.ts` sees the rest). @param clock milliseconds since any moment.
 */
export function watchUnread(clock: () => number = () => performance.now()): UnreadWatch {
  let waiting = new Map<string, number>();
  return {
    look(unread) {
      const now = clock();
      const places = [...unread].flatMap(([topic, partitions]) => partitions.map((partition) => `${topic}.${partition}`));
      waiting = new Map(places.map((place) => [place, waiting.get(place) ?? now]));
      const long = places.filter((place) => now - (waiting.get(place) ?? now) > UNREAD_MS);
      if (long.length === 0) return [];
      const named = long.slice(0, 3).join(', ') + (long.length > 3 ? ` and ${long.length - 3} more partitions` : '');
      return [
        `no projection worker has read ${named} for over ${UNREAD_MS / 1_000} s; start one, and look at the one that runs: a process that is frozen loses its partitions`,
      ];
    },
  };
}
