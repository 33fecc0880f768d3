import { benchAgentGymRevise } from './agentgym-revise.ts';
import { benchAgentGymSearch } from './agentgym-search.ts';
import { benchAnswers } from './answers.ts';
import { benchAppend } from './append.ts';
import { benchAsOf } from './as-of.ts';
import { benchHealthzUnderQueries } from './healthz-under-queries.ts';
import { benchLag } from './lag.ts';
import { benchLeases } from './leases.ts';
import type { Outcome } from './outcome.ts';
import { benchPlanner } from './planner.ts';
import { benchPost } from './post.ts';
import { benchProject } from './project.ts';
import { benchPythonArrow } from './python-arrow.ts';
import { benchPythonRecord } from './python-record.ts';
import { benchRebuild } from './rebuild.ts';
import { benchSeal } from './seal.ts';
import { benchSearchStorage } from './search-storage.ts';
import { benchSideBySide } from './side-by-side.ts';
import type { Stage } from './stage.ts';
import { benchStorage } from './storage.ts';
import { benchStudio } from './studio.ts';
import { benchTree } from './tree.ts';

/** The benches by name, in the order in which they run. */
export const BENCHES = {
  append: benchAppend,
  project: benchProject,
  post: benchPost,
  seal: benchSeal,
  lag: benchLag,
  tree: benchTree,
  storage: benchStorage,
  search: benchSearchStorage,
  'agentgym-search': benchAgentGymSearch,
  'agentgym-revise': benchAgentGymRevise,
  leases: benchLeases,
  planner: benchPlanner,
  'python-record': benchPythonRecord,
  rebuild: benchRebuild,
  'as-of': benchAsOf,
  answers: benchAnswers,
  'healthz-under-queries': benchHealthzUnderQueries,
  studio: benchStudio,
  'python-arrow': benchPythonArrow,
  'side-by-side': benchSideBySide,
} satisfies Record<string, (stage: Stage) => Promise<Outcome>>;

/** Returns whether a bench has this name. */
export function isBench(name: string): name is keyof typeof BENCHES {
  return Object.hasOwn(BENCHES, name);
}
