import { createPythonRandom } from '../random/python-random.ts';
import type { SearchedStep } from '../search/searched-step.ts';
import type { Tree } from '../tree/grow-tree.ts';
import { earnedNothing, type LeafPath, leafPaths, sortByAverage } from './leaf-paths.ts';
import type { Thresholds } from './thresholds.ts';

export interface PathPair {
  readonly good: LeafPath;
  readonly bad: LeafPath;
}

/** A pair that the published program emits, with the index of the reflection that it draws for it. */
export type PublishedPair = PathPair & { readonly reflection: number };

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
