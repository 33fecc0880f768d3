import type { SearchedStep } from '../search/searched-step.ts';
import type { Tree } from '../tree/grow-tree.ts';
import { earnedNothing, type LeafPath, leafPaths, sortByAverage } from './leaf-paths.ts';
import { isGood, isWorse, type Thresholds } from './thresholds.ts';

/** A good and a bad trajectory of one tree that share their first `branch` steps and part at the next. */
export interface BranchedPair {
  readonly good: LeafPath;
  readonly bad: LeafPath;
  readonly branch: number;
}

export interface Pairing {
  /** Good trajectories, the best first, no two of the same content. */
  readonly good: readonly LeafPath[];
  /** Bad trajectories of at least one pair: each is to be judged once, whatever the number of its partners (§6 item 11). */
  readonly bad: readonly LeafPath[];
  readonly pairs: readonly BranchedPair[];
}

/**
 * Pairs trajectories soundly (issue list of the specification, §6 items 8, 10, 12): inclusive thresholds, trajectories of the
 * same words counted once, and a known branch for every pair. The order is that of the rewards, then of the tree: no chance, so
 * none to record. A tree without rewards yields nothing.
 */
export function pairPaths(tree: Tree<SearchedStep>, thresholds: Thresholds): Pairing {
  if (earnedNothing(tree)) return { good: [], bad: [], pairs: [] };
  const sorted = sortByAverage(uniqueByContent(leafPaths(tree)));
  const good = sorted.filter(({ average }) => isGood(average, thresholds));
  const pairs = good.flatMap((best) =>
    sorted
      .filter((bad) => isWorse(bad.average, best.average, thresholds))
      .map((bad) => ({ good: best, bad, branch: branchOf(best, bad) }))
      .filter(({ branch, bad }) => branch < bad.steps.length && branch < best.steps.length),
  );
  return { good, bad: sorted.filter((path) => pairs.some(({ bad }) => bad === path)), pairs };
}

/**
 * Counts the steps that two trajectories share from the start. Steps are shared when their words are, reply and observation, even
 * where the search holds them twice: a reader of the rows could not distinguish them.
 */
export function branchOf(a: LeafPath, b: LeafPath): number {
  const length = Math.min(a.steps.length, b.steps.length);
  for (let i = 0; i < length; i++) {
    const [one, other] = [a.steps[i], b.steps[i]];
    if (one?.response !== other?.response || one?.observation !== other?.observation) return i;
  }
  return length;
}

/** Returns a text that is equal exactly where the words of two stretches are. */
export function contentOf(steps: readonly SearchedStep[]): string {
  return JSON.stringify(steps.map(({ response, observation }) => [response, observation]));
}

function uniqueByContent(paths: readonly LeafPath[]): readonly LeafPath[] {
  const seen = new Set<string>();
  return paths.filter(({ steps }) => {
    const content = contentOf(steps);
    return !seen.has(content) && seen.add(content);
  });
}
