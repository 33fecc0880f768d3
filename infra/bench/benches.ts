import { benchAppend } from './append.ts';
import { benchAutolog } from './autolog.ts';
import type { BenchResult } from './bench-result.ts';
import { benchCalls } from './calls.ts';
import { benchLag } from './lag.ts';
import { benchLeases } from './leases.ts';
import { benchPost } from './post.ts';
import { benchProject } from './project.ts';
import { benchRecorders } from './recorders.ts';
import { benchRender } from './render.ts';
import { benchSideBySide } from './side-by-side.ts';
import type { Stage } from './stage.ts';
import { benchStudio } from './studio.ts';
import { benchTree } from './tree.ts';

/** The benches that install other systems from PyPI. */
export const COMPARING: readonly string[] = ['side-by-side', 'calls'];

/** The benches by name, in the order in which they run. */
export const BENCHES = {
  append: benchAppend,
  project: benchProject,
  post: benchPost,
  lag: benchLag,
  tree: benchTree,
  leases: benchLeases,
  autolog: benchAutolog,
  recorders: benchRecorders,
  render: benchRender,
  studio: benchStudio,
  'side-by-side': benchSideBySide,
  calls: benchCalls,
} satisfies Record<string, (stage: Stage) => Promise<BenchResult>>;

/** Returns whether a bench has this name. */
export function isBench(name: string): name is keyof typeof BENCHES {
  return Object.hasOwn(BENCHES, name);
}
