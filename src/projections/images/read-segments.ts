import { type Selectable, sql } from 'kysely';
import type { Db } from '../../postgres/database.ts';
import { rowsWhere, wholeRowsWhere } from '../../postgres/rows-where.ts';
import type { Tables } from '../../postgres/tables.ts';
import { keyInTree, type OfTree, pairsOf } from '../of-tree.ts';
import { type HistoryLink, resolveHistories } from './resolve-histories.ts';

/**
 * One record of history, drawn by one render spec: `id` is the hash of both, `runId` the run that drew it first. Its text is ''
 * where `blobs` names it: it is in the blob store.
 */
export interface SegmentRecord extends Omit<Selectable<Tables['segments']>, 'segmentId' | 'renderedAt'> {
  readonly id: string;
}

/** Reads segments by their ids, in no order; those that are not on record are left out. */
export async function readSegments(db: Db, ids: readonly string[]): Promise<readonly SegmentRecord[]> {
  const rows = await wholeRowsWhere(db, 'segments', { segmentId: ids });
  return rows.map(({ segmentId, renderedAt: _, ...row }) => ({ id: segmentId, ...row }));
}

/**
 * Returns which of the segments are on record: what a run draws for the first time it appends, what another run recorded it does
 * not record again.
 */
export async function findKnownSegments(db: Db, ids: readonly string[]): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const rows = await rowsWhere(db, 'segments', { segmentId: ids }, ['segmentId']);
  return new Set(rows.map(({ segmentId }) => segmentId));
}

/**
 * Reads the histories of steps, each as the ids of its segments in order, by `keyInTree`, in one statement. Steps that were shown no image are
 * left out. The chains of prefixes are followed from all the steps at once, so those of one path are read once.
 */
export async function readHistories(db: Db, steps: readonly OfTree[]): Promise<ReadonlyMap<string, readonly string[]>> {
  if (steps.length === 0) return new Map();
  const { rows } = await sql<HistoryLink>`
    with recursive chain (tree_id, step_id) as (
      select w.tree_id, w.id from ${pairsOf(steps)} w
      union
      select h.tree_id, h.prefix_step_id from chain join history_images h using (tree_id, step_id)
      where h.prefix_step_id is not null and h.prefix_from < h.prefix_to
    )
    select h.tree_id || ' ' || h.step_id as step, h.tree_id || ' ' || h.prefix_step_id as prefix, h.prefix_from as "from",
      h.prefix_to as "to", h.segments
    from chain join history_images h using (tree_id, step_id)`.execute(db);
  return resolveHistories(
    new Map(rows.map((link) => [link.step, link])),
    steps.map(({ treeId, id }) => keyInTree(treeId, id)),
  );
}

/** Reads the history that a step was shown, as the ids of its segments. */
export async function readHistory(
  db: Db,
  { treeId, stepId: id }: { readonly treeId: string; readonly stepId: string },
): Promise<readonly string[]> {
  return (await readHistories(db, [{ treeId, id }])).get(keyInTree(treeId, id)) ?? [];
}
