import { loadScript } from '../parts/load.ts';

/** The renderers that the studio brings, by the environments that runs name; a run's own comes first. */
const SHIPPED: Readonly<Record<string, () => Promise<{ readonly default: string }>>> = {
  textcraft: () => import('./shipped/textcraft.ts?renderer'),
  'search-qa': () => import('./shipped/search-qa.ts?renderer'),
  searchqa: () => import('./shipped/search-qa.ts?renderer'),
  alfworld: () => import('./shipped/alfworld.ts?renderer'),
};

/** Loads the renderer that the studio brings for an environment; null where it has none. */
export async function shippedRenderer(environment: string): Promise<string | null> {
  const load = Object.hasOwn(SHIPPED, environment) ? SHIPPED[environment] : undefined;
  return load ? (await loadScript(load)).default : null;
}
