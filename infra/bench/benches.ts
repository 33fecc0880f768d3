import type { Outcome } from './outcome.ts';
import { benchProject } from './project.ts';
import type { Stage } from './stage.ts';

/** The benches by name, in the order in which they run. */
export const BENCHES = { project: benchProject } satisfies Record<string, (stage: Stage) => Promise<Outcome>>;

/** Tells whether a bench has this name. */
export function isBench(name: string): name is keyof typeof BENCHES {
  return Object.hasOwn(BENCHES, name);
}
