import { textReader } from '../../blobs/read-text.ts';
import type { SearchedStep } from '../../domain/search/searched-step.ts';
import { pathTo, type Tree } from '../../domain/tree/grow-tree.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { type RevisionRecord, readRevisions } from '../../projections/revisions/read-revisions.ts';
import { readSearchedTree } from '../../projections/revisions/read-searched-trees.ts';
import { compareWithParents, type RevisionParts } from './compare-with-parents.ts';

/** Describes the shortest verified revision of a tree next to its parents; nothing when none was verified. */
export async function showRevision({ database, blobs }: Platform, treeId: string): Promise<readonly string[]> {
  const { db } = database;
  const verified = (await readRevisions(db, [treeId])).filter(({ state }) => state === 'verified');
  const text = textReader(blobs);
  const searched = await readSearchedTree(db, treeId, text);
  if (!searched) return [];
  const { tree } = searched;
  const compared = verified.map((revision) => partsOf(tree, revision));
  // By their actions last: ids and reflections differ from run to run, what a run of a seed shows does not.
  const [shortest] = compared.sort((a, b) => lengthOf(a) - lengthOf(b) || (actionsOf(a) < actionsOf(b) ? -1 : 1));
  return shortest ? compareWithParents(shortest) : [];
}

function actionsOf({ bad, good }: RevisionParts): string {
  return JSON.stringify([bad, good]);
}

function lengthOf({ good, branch, transition }: RevisionParts): number {
  return transition + 1 + good.length - branch;
}

function partsOf(tree: Tree<SearchedStep>, revision: RevisionRecord): RevisionParts {
  const bad = pathTo(tree, revision.badLeafStepId).slice(1);
  const good = pathTo(tree, revision.goodLeafStepId).slice(1);
  const place = (stepId: string) => bad.findIndex((step) => step.stepId === stepId);
  const actions = (steps: readonly SearchedStep[]) => steps.map(({ action }) => action);
  return {
    bad: actions(bad),
    good: actions(good),
    reflection: revision.reflection,
    branch: place(revision.branchStepId) + 1,
    transition: place(revision.transitionStepId), // the root is no step: -1
  };
}
