import type { SearchedStep } from '../search/searched-step.ts';
import { type Tree, type TreeNode, walkDown } from '../tree/grow-tree.ts';

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
export function sortByAverage(paths: readonly LeafPath[]): readonly LeafPath[] {
  return [...paths].sort((a, b) => b.average - a.average);
}

/** Reports that no walk of a tree earned anything: such a tree is skipped (§2.2). */
export function earnedNothing(tree: Tree<SearchedStep>): boolean {
  return tree.root.step.valueSum <= 0;
}

function stepsTo(leaf: TreeNode<SearchedStep>): readonly SearchedStep[] {
  const steps: SearchedStep[] = [];
  for (let node = leaf; node.parent; node = node.parent) steps.push(node.step);
  return steps.reverse();
}
