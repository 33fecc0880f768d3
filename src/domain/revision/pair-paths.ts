import { createPythonRandom } from '../random/python-random.ts';
import type { SearchedStep } from '../search/search-tree.ts';
import { type Tree, type TreeNode, walkDown } from '../tree/grow-tree.ts';
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

/** A trajectory that ended. `steps` begin with the first action: the root is not among them. */
export interface LeafPath {
  readonly steps: readonly SearchedStep[];
  readonly leafStepId: string;
  /** valueSum / visits of the leaf: its reward. */
  readonly average: number;
}

/**
 * Returns the trajectories of a tree that ended, depth first, children in their order: a path ends where a step is terminal and
 * childless (§2.2).
 */
export function leafPaths(tree: Tree<SearchedStep>): readonly LeafPath[] {
  const paths: LeafPath[] = [];
  for (const node of walkDown(tree.root)) {
    const { stepId, terminal, visits, valueSum } = node.step;
    if (!terminal || node.children.length > 0) continue;
    paths.push({ steps: stepsTo(node), leafStepId: stepId, average: visits === 0 ? 0 : valueSum / visits });
  }
  return paths;
}

/** Sorts trajectories by the reward of their leaf, the best first; equal ones keep their order. */
function sortByAverage(paths: readonly LeafPath[]): readonly LeafPath[] {
  return [...paths].sort((a, b) => b.average - a.average);
}

/** Reports that no walk of a tree earned anything: such a tree is skipped (§2.2). */
function earnedNothing(tree: Tree<SearchedStep>): boolean {
  return tree.root.step.valueSum <= 0;
}

function stepsTo(leaf: TreeNode<SearchedStep>): readonly SearchedStep[] {
  const steps: SearchedStep[] = [];
  for (let node = leaf; node.parent; node = node.parent) steps.push(node.step);
  return steps.reverse();
}

export interface PathPair {
  readonly good: LeafPath;
  readonly bad: LeafPath;
}

/** A pair that the published program emits, with the index of the reflection that it draws for it. */
type PublishedPair = PathPair & { readonly reflection: number };

export interface PublishedPairing {
  /** Whether the program skips the tree; then nothing is accepted. */
  readonly skipped: boolean;
  readonly sorted: readonly LeafPath[];
  /** All pairs far enough apart, in the order in which they are found, then as shuffled. */
  readonly found: readonly PathPair[];
  readonly shuffled: readonly PathPair[];
  /** Those whose good leaf is good enough, in the order of their rows. */
  readonly accepted: readonly PublishedPair[];
  /** The good trajectories, in the order of their rows. */
  readonly good: readonly LeafPath[];
}

/** `random.seed` of the published program. */
export const PUBLISHED_SEED = 123;
const LAST_REFLECTION = 9; // randint(0, 9) of 20 sentences: only ten can be reached (§2.6)

/**
 * Pairs trajectories exactly as Agent-R's `path_collection.py` (specification, §2.2): strict comparisons on floats as they are,
 * every ordered pair of the sorted list, `random.seed(123)` and a shuffle for each tree, one `randint(0, 9)` per accepted pair.
 * The gap is that of the leaves' averages, while alpha is compared with the leaf's value; the two differ only where a leaf was
 * visited twice.
 * @param seed set again for every tree, so that trees of equal pair count draw equal reflections (§6 item 8).
 */
export function pairAsPublished(tree: Tree<SearchedStep>, { alpha, beta }: Thresholds, seed = PUBLISHED_SEED): PublishedPairing {
  const skipped = earnedNothing(tree);
  const sorted = sortByAverage(leafPaths(tree));
  const found = sorted.flatMap((good) => sorted.filter((bad) => good.average - bad.average > beta).map((bad) => ({ good, bad })));
  const random = createPythonRandom(seed);
  const shuffled = random.shuffle(found);
  const accepted = skipped ? [] : shuffled.filter(({ good }) => leafValue(good) > alpha);
  return {
    skipped,
    sorted,
    found,
    shuffled,
    accepted: accepted.map((pair) => ({ ...pair, reflection: random.randint(0, LAST_REFLECTION) })),
    good: skipped ? [] : sorted.filter((path) => leafValue(path) > alpha),
  };
}

function leafValue({ steps, average }: LeafPath): number {
  return steps.at(-1)?.valueSum ?? average;
}
