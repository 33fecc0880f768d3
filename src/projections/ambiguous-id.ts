/** Several trees have something under one id, which identifies it only within its tree: alone it names none of them. */
export class AmbiguousId extends Error {
  override readonly name = 'AmbiguousId';
  constructor(kind: string, id: string, places: readonly { readonly treeId: string }[]) {
    super(`${kind} ${id} is ambiguous: the trees ${treesNamed(places)} have one each; name the tree that is meant`);
  }
}

/**
 * Returns the one among what was found under an id; undefined where there is none. @param treeId the tree that is meant; null where
 * the id is to say it alone. @throws AmbiguousId.
 */
export function onlyOne<Row extends { readonly treeId: string }>(
  { kind, id, treeId }: { readonly kind: string; readonly id: string; readonly treeId: string | null },
  rows: readonly Row[],
): Row | undefined {
  const [row, ...others] = treeId === null ? rows : rows.filter((each) => each.treeId === treeId);
  if (others.length > 0) throw new AmbiguousId(kind, id, rows);
  return row;
}

const NAMED = 5;

/** Returns the trees of records, the first few by their ids. */
export function treesNamed(places: readonly { readonly treeId: string }[]): string {
  const trees = [...new Set(places.map(({ treeId }) => treeId))].sort();
  const named = trees.slice(0, NAMED).join(', ');
  return trees.length > NAMED ? `${named} and ${trees.length - NAMED} more` : named;
}
