import type { Projection } from '../projections/projection.ts';
import { projections } from '../projections/registry.ts';

/** Finds a projection by its name. @throws Error that lists those there are. */
export function projectionNamed(name: string): Projection {
  const found = projections.find((projection) => projection.name === name);
  if (found) return found;
  throw new Error(`there is no projection ${JSON.stringify(name)}; there are ${projections.map((p) => p.name).join(', ')}`);
}
