import type { Offsets } from '../log/event-log.ts';
import { topicsOf } from '../projections/concerns.ts';
import type { Projection } from '../projections/projection.ts';
import { lagOf, type ProjectionStatus } from '../projections/projection-statuses.ts';

const KEPT = 1_000; // looks; at 15 s four hours

/**
 * Makes what says for how many seconds a projection has not folded what the log holds, since the first look that saw it. Kafka has no
 * time of a record that nobody reads, so each look remembers the ends of the log.
 */
export function watchLag(now: () => number = () => performance.now()) {
  let looks: readonly { readonly at: number; readonly ends: Offsets }[] = [];
  return (
    projections: readonly Projection[],
    statuses: readonly ProjectionStatus[],
    ends: Offsets,
  ): ReadonlyMap<string, number> => {
    const at = now();
    looks = [...looks, { at, ends }].slice(-KEPT);
    const seconds = new Map<string, number>();
    let oldest = at;
    for (const projection of projections) {
      const status = statuses.find(({ name }) => name === projection.name);
      if (!status) continue;
      const behind = looks.find((look) => lagOf(status, look.ends, topicsOf(projection)) > 0)?.at ?? at;
      oldest = Math.min(oldest, behind);
      seconds.set(projection.name, (at - behind) / 1_000);
    }
    looks = looks.filter((look) => look.at >= oldest); // everybody has folded what an earlier look saw
    return seconds;
  };
}
