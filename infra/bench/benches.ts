import { benchAnswers } from './answers.ts';
import { benchAppend } from './append.ts';
import { benchHealthzUnderQueries } from './healthz-under-queries.ts';
import { benchLag } from './lag.ts';
import { benchLeases } from './leases.ts';
import type { Outcome } from './outcome.ts';
import { benchPost } from './post.ts';
import { benchProject } from './project.ts';
import { benchRebuild } from './rebuild.ts';
import { benchSideBySide } from './side-by-side.ts';
import type { Stage } from './stage.ts';
import { benchStudio } from './studio.ts';
import { benchTree } from './tree.ts';

/** The benches by name, in the order in which they run. */
export const BENCHES = {
  append: benchAppend,
  project: benchProject,
  post: benchPost,
  lag: benchLag,
  tree: benchTree,
  leases: benchLeases,
  rebuild: benchRebuild,
  answers: benchAnswers,
  'healthz-under-queries': benchHealthzUnderQueries,
  studio: benchStudio,
  'side-by-side': benchSideBySide,
} satisfies Record<string, (stage: Stage) => Promise<Outcome>>;

/** Returns whether a bench has this name. */
export function isBench(name: string): name is keyof typeof BENCHES {
  return Object.hasOwn(BENCHES, name);
}
