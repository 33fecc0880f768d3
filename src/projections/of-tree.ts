import { type RawBuilder, sql } from 'kysely';

/** Something of a tree, by its id, which identifies it within the tree only. */
export interface OfTree {
  readonly treeId: string;
  readonly id: string;
}

/** Returns a key that nothing of another tree has, whatever ids it gives. */
export function keyInTree(treeId: string, id: string): string {
  return `${treeId} ${id}`;
}

/** Returns records as a relation of `tree_id` and `id`, in their order. Name it `w`, as a statement reads them. */
export function pairsOf(records: readonly OfTree[]): RawBuilder<unknown> {
  const [trees, ids] = [records.map(({ treeId }) => treeId), records.map(({ id }) => id)];
  return sql`(select * from unnest(${trees}::uuid[], ${ids}::uuid[]) as p (tree_id, id))`;
}

/** Returns the key of a record. */
export function keyOf({ treeId, id }: OfTree): string {
  return keyInTree(treeId, id);
}
