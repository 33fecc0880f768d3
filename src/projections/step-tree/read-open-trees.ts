import type { Db } from '../../postgres/database.ts';
import { keyInTree } from '../of-tree.ts';
import { readPictureIds } from '../pictures/read-pictures.ts';

/** A tree that was opened and not closed, and the first observation that it was opened with. */
export interface OpenTree {
  readonly treeId: string;
  readonly alias: string;
  readonly seed: number;
  readonly observation: string;
  /** Pictures of that observation, by their ids. */
  readonly pictures: readonly { readonly imageId: string }[];
}

/**
 * Reads the open trees of a run, in the order of their ids. @param resolve reads a text of the blob store.
 */
export async function readOpenTrees(
  db: Db,
  runId: string,
  resolve: (sha256: string) => Promise<string>,
): Promise<readonly OpenTree[]> {
  const rows = await db
    .selectFrom('trees as t')
    .innerJoin('steps as s', (on) => on.onRef('s.stepId', '=', 't.rootStepId').onRef('s.treeId', '=', 't.treeId'))
    .select(['t.treeId', 't.rootStepId', 't.alias', 't.seed', 's.observation', 's.blobs'])
    .where('t.runId', '=', runId)
    .where('t.closedAt', 'is', null)
    .orderBy('t.treeId')
    .execute();
  const pictures = await readPictureIds(
    db,
    rows.map(({ treeId, rootStepId: id }) => ({ treeId, id })),
  );
  return Promise.all(
    rows.map(async ({ treeId, rootStepId, alias, seed, observation, blobs }) => {
      const blob = blobs?.observation;
      const text = blob ? await resolve(blob.blob) : observation;
      return { treeId, alias, seed, observation: text, pictures: pictures.get(keyInTree(treeId, rootStepId)) ?? [] };
    }),
  );
}
