import type { Outline } from './use-outline.ts';

/** What a search knew of a step. */
export interface Statistics {
  readonly visits: number;
  readonly value: number;
}
export type StatisticsByStep = ReadonlyMap<string, Statistics>;

/** One simulation: the path that it went, what of it was new, and what it backed up. */
export interface Simulated {
  /** The ids of the path, root first. */
  readonly path: ReadonlySet<string>;
  /** Those of them that no simulation had visited before. */
  readonly fresh: ReadonlySet<string>;
  readonly value: number;
}

/** Sums up the first so many back-ups, as the search did when it made them. */
export function statisticsAfter({ steps, backUps }: Outline, simulations: number): StatisticsByStep {
  const visits = new Int32Array(steps.length);
  const sums = new Float64Array(steps.length);
  let from = 0;
  for (let n = 0; n < Math.min(simulations, backUps.length); n++) {
    const until = from + (backUps.lengths[n] ?? 0);
    for (; from < until; from++) {
      const place = backUps.paths[from] ?? -1;
      if (place < 0) continue;
      visits[place] = (visits[place] ?? 0) + 1;
      sums[place] = (sums[place] ?? 0) + (backUps.values[n] ?? 0);
    }
  }
  const known = new Map<string, Statistics>();
  for (const [place, step] of steps.entries()) {
    const seen = visits[place] ?? 0;
    if (seen > 0) known.set(step.id, { visits: seen, value: (sums[place] ?? 0) / seen });
  }
  return known;
}

/** Returns what a simulation did, the first of which is 1; null where the record has none. */
export function simulationOf({ steps, backUps }: Outline, simulation: number, before: StatisticsByStep): Simulated | null {
  if (simulation < 1 || simulation > backUps.length) return null;
  let from = 0;
  for (let n = 0; n < simulation - 1; n++) from += backUps.lengths[n] ?? 0;
  const places = backUps.paths.subarray(from, from + (backUps.lengths[simulation - 1] ?? 0));
  const path = new Set([...places].flatMap((place) => steps[place]?.id ?? []));
  return {
    path,
    fresh: new Set([...path].filter((id) => !before.has(id))),
    value: backUps.values[simulation - 1] ?? 0,
  };
}

/** Returns what the search knew of a step after each simulation that passed it. */
export function historyOf(
  { steps, backUps }: Outline,
  stepId: string,
): readonly (Statistics & { readonly simulation: number })[] {
  const index = steps.findIndex(({ id }) => id === stepId);
  const history: (Statistics & { readonly simulation: number })[] = [];
  let [from, sum] = [0, 0];
  for (let n = 0; n < backUps.length; n++) {
    const until = from + (backUps.lengths[n] ?? 0);
    const passed = backUps.paths.subarray(from, until).includes(index);
    from = until;
    if (!passed) continue;
    sum += backUps.values[n] ?? 0;
    history.push({ simulation: n + 1, visits: history.length + 1, value: sum / (history.length + 1) });
  }
  return history;
}
