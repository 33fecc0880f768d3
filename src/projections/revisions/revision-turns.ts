import { type RevisedTurn, splice } from '../../domain/revision/splice.ts';
import type { SearchedStep } from '../../domain/search/search-tree.ts';
import { pathTo, type Tree } from '../../domain/tree/grow-tree.ts';
import type { RevisionRecord } from './read-revisions.ts';

/**
 * Makes the turns of a recorded revision again from its tree. @throws RangeError when the tree is not the one it was composed
 * from.
 */
export function revisionTurns(tree: Tree<SearchedStep>, revision: RevisionRecord): readonly RevisedTurn[] {
  const bad = pathTo(tree, revision.badLeafStepId);
  const good = pathTo(tree, revision.goodLeafStepId);
  const branch = placeOf(bad, revision.branchStepId);
  const transition = placeOf(bad, revision.transitionStepId) - 1; // the root is no step of the trajectory
  return splice({ bad: bad.slice(1), good: good.slice(1), branch }, transition, revision.reflection, revision.signal);
}

function placeOf(path: readonly SearchedStep[], stepId: string): number {
  const place = path.findIndex((step) => step.stepId === stepId);
  if (place < 0) throw new RangeError(`step ${stepId} does not lie on the bad trajectory`);
  return place;
}
