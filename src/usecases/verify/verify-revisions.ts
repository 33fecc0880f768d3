import { isLostBlob } from '../../blobs/blob-store.ts';
import { textReader } from '../../blobs/read-text.ts';
import { leafPaths } from '../../domain/revision/pair-paths.ts';
import { keepsForm, type RevisedTurn } from '../../domain/revision/splice.ts';
import { isWorse } from '../../domain/revision/thresholds.ts';
import type { Platform } from '../../platform/open-platform.ts';
import { forgottenAmong } from '../../postgres/stream-keys.ts';
import { type RevisionRecord, readRevisedTrees, readRevisions } from '../../projections/revisions/read-revisions.ts';
import { readSearchedTrees, type SearchedTree } from '../../projections/revisions/read-searched-trees.ts';
import { revisionContentHash } from '../../projections/revisions/revision-content.ts';
import { revisionTurns } from '../../projections/revisions/revision-turns.ts';

/**
 * A revision that is on record as it was mined, and that the record speaks against. `bad-side`: what it gives up as bad is not
 * worse than what it goes over to, by what the search counts: it was mined while a success was not backed up yet. `malformed`:
 * its reflection breaks the form of the reply it is in. `altered`: the tree does not give the turns that it was composed of.
 */
export interface DoubtfulRevision {
  readonly revisionId: string;
  readonly treeId: string;
  readonly state: 'composed' | 'verified';
  readonly why: 'bad-side' | 'malformed' | 'altered';
}

const TREES_AT_ONCE = 16;

/**
 * Finds the doubtful revisions, tree by tree. Of a tree that lacks a text in the blob store, which is named elsewhere, nothing is said
 * of what it gives.
 */
export async function findDoubtfulRevisions(
  { database: { db }, blobs }: Platform,
  signal: AbortSignal,
): Promise<readonly DoubtfulRevision[]> {
  const revised = await readRevisedTrees(db);
  const forgotten = await forgottenAmong(db, revised); // a placeholder has no form that a reflection could break
  const ids = revised.filter((treeId) => !forgotten.has(treeId));
  const text = textReader(blobs);
  const found: DoubtfulRevision[] = [];
  for (let from = 0; from < ids.length; from += TREES_AT_ONCE) {
    signal.throwIfAborted();
    const piece = ids.slice(from, from + TREES_AT_ONCE);
    const lost = new Set<string>();
    const searched = await readSearchedTrees(db, piece, (sha256, _size, treeId) =>
      text(sha256).catch((error: unknown) => {
        if (!isLostBlob(error)) throw error;
        lost.add(treeId);
        return '';
      }),
    );
    const averages = new Map([...searched].map(([treeId, { tree }]) => [treeId, averagesOf(tree)]));
    for (const revision of await readRevisions(db, piece)) {
      const { id: revisionId, treeId, state } = revision;
      const tree = searched.get(treeId);
      if (state === 'rejected' || !tree) continue;
      const why = doubtOf(tree, averages.get(treeId) ?? new Map(), revision, lost.has(treeId) ? 'lacks-text' : 'whole');
      if (why !== null) found.push({ revisionId, treeId, state, why });
    }
  }
  return found;
}

/** What each trajectory that ended is worth, by its leaf. */
function averagesOf(tree: SearchedTree['tree']): ReadonlyMap<string, number> {
  return new Map(leafPaths(tree).map(({ leafStepId, average }) => [leafStepId, average]));
}

function doubtOf(
  searchedTree: SearchedTree,
  averages: ReadonlyMap<string, number>,
  revision: RevisionRecord,
  texts: 'whole' | 'lacks-text',
): DoubtfulRevision['why'] | null {
  const { searched, tree } = searchedTree;
  const [good, bad] = [averages.get(revision.goodLeafStepId), averages.get(revision.badLeafStepId)];
  // Where nothing was searched the returns count, and those may have been judged again since.
  if (searched && good !== undefined && bad !== undefined && !isWorse(bad, good, revision)) return 'bad-side';
  const turns = turnsOf(tree, revision);
  if (turns === null) return 'altered';
  const first = turns.find(({ part, stepId }) => part === 'signal' && stepId !== null)?.stepId;
  const reply = first && tree.nodes.get(first)?.step.response;
  if (reply && !keepsForm(revision.signal, reply)) return 'malformed';
  return texts === 'whole' && revisionContentHash(searchedTree, turns) !== revision.contentHash ? 'altered' : null;
}

/** Returns the turns of a revision; null where its tree has not the path that it was composed of. */
function turnsOf(tree: SearchedTree['tree'], revision: RevisionRecord): readonly RevisedTurn[] | null {
  try {
    return revisionTurns(tree, revision);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
