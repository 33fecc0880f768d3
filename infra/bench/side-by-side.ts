import type { Figure, Goal, Outcome, Unit } from './outcome.ts';
import { installedPython, installPython } from './side-by-side/install.ts';
import { type Measured, measureSystem } from './side-by-side/measure-system.ts';
import { recordOwn } from './side-by-side/record-own.ts';
import { SYSTEMS } from './side-by-side/systems.ts';
import type { Size, Stage } from './stage.ts';
import { openStagePlatform } from './stage-platform.ts';

const EPISODES: Record<Size, number> = { full: 500, quick: 10 }; // of 20 steps

/** A column of the table: its unit, what of a measurement it shows, and whether more is better. */
const COLUMNS: readonly { name: string; unit: Unit; of: (found: Measured) => number | null; best: 'most' | 'least' }[] = [
  { name: 'durable', unit: 'steps/s', of: ({ steps, durable_s }) => durable_s && steps / durable_s, best: 'most' },
  { name: 'queryable', unit: 'steps/s', of: ({ steps, queryable_s }) => steps / queryable_s, best: 'most' },
  { name: 'on disk, of a step', unit: 'bytes', of: ({ steps, bytes }) => bytes && bytes / steps, best: 'least' },
  { name: 'to fetch 1,000 steps', unit: 'ms', of: ({ fetch_s }) => fetch_s * 1_000, best: 'least' },
];

/**
 * Records the same steps by the clients of Espalier, MLflow, Phoenix and Agent Lightning's store, each into its own server with
 * the storage that it has without further set-up, at its best batch setting. Installs what is missing from PyPI into Pythons of
 * their own below the cache folder; `--quick` takes what is there.
 */
export async function benchSideBySide(stage: Stage): Promise<Outcome> {
  const episodes = EPISODES[stage.size];
  const own = await recordOwn(stage, await openStagePlatform(stage), episodes);
  const others: { name: string; keeps: string; found: Measured }[] = [];
  for (const system of SYSTEMS) {
    const python = stage.size === 'full' ? await installPython(system.packages) : installedPython(system.packages);
    if (python === null) continue;
    const found = await measureSystem(system, python, episodes);
    others.push({ name: system.packages.join(' ').replace('==', ' '), keeps: system.keeps, found });
  }
  const figures = COLUMNS.flatMap(({ name, unit, of, best }): readonly Figure[] => {
    const figure = (system: string, value: number | null): readonly Figure[] =>
      value === null ? [] : [{ name: `${system}, ${name}`, value, unit, baseline: null, goal: null }];
    // the goal is to be first among those that keep what they were sent
    const durable = others.flatMap((other) =>
      other.found.durable_s === null ? [] : [{ ...other, value: of(other.found) ?? 0 }],
    );
    const [first] = durable.sort((a, b) => (best === 'most' ? b.value - a.value : a.value - b.value));
    const goal: Goal = best === 'most' ? { kind: 'ratio', least: 1 } : { kind: 'share', most: 1 };
    const ours = figure('Espalier', of(own)).map((each) =>
      first === undefined ? each : { ...each, baseline: { name: first.name, value: first.value, unit }, goal },
    );
    return [...ours, ...others.flatMap((other) => figure(other.name, of(other.found)))];
  });
  return {
    bench: 'side-by-side',
    figures,
    conditions: {
      ...stage.conditions(),
      steps: own.steps,
      'text of a step': '1,000 bytes',
      Espalier: 'spool durable="write", embedded log with fsync, API and projections in one process',
      ...Object.fromEntries(others.map(({ name, keeps, found }) => [name, `${keeps}; ${found.batch} spans at a time`])),
    },
  };
}
