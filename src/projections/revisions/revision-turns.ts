import { type RevisedTurn, splice } from '../../domain/revision/splice.ts';
import type { SearchedStep } from '../../domain/search/searched-step.ts';
import { pathTo, type Tree } from '../../domain/tree/grow-tree.ts';
import type { RevisionRecord } from './read-revisions.ts';

/**
 * Makes the turns of a recorded revision again from its tree; null where its branch or its transition does not lie on its bad
 * trajectory, as nobody of ours composes one.
 */
export function revisionTurns(tree: Tree<SearchedStep>, revision: RevisionRecord): readonly RevisedTurn[] | null {
  const bad = pathTo(tree, revision.badLeafStepId);
  const good = pathTo(tree, revision.goodLeafStepId);
  const placeOf = (id: string) => bad.findIndex(({ stepId }) => stepId === id);
  const branch = placeOf(revision.branchStepId);
  const transition = placeOf(revision.transitionStepId) - 1; // the root is no step of the trajectory
  if (branch < 0 || transition < branch) return null;
  return splice({ bad: bad.slice(1), good: good.slice(1), branch }, transition, revision.reflection, revision.signal);
}
