/**
 * Several trees have something under one id, which identifies it only within its tree, or one tree has several things under it: alone
 * it names none of them.
 */
export class AmbiguousId extends Error {
  override readonly name = 'AmbiguousId';
  constructor(kind: string, id: string, places: readonly { readonly treeId: string }[]) {
    super(`${kind} ${id} is ambiguous: ${waysOut(places)}`);
  }
}

function waysOut(places: readonly { readonly treeId: string }[]): string {
  if (new Set(places.map(({ treeId }) => treeId)).size > 1)
    return `the trees ${treesNamed(places)} have one each; name the tree that is meant`;
  return `${places.length} things in one tree, ${treesNamed(places)}, have it; name the step or the rollout by an id of its own, or send a RewardAssigned event, which says of which it is`;
}

/**
 * Returns the one among what was found under an id; undefined where there is none. @param treeId the tree that is meant; null where
 * the id is to say it alone. @throws AmbiguousId.
 */
export function onlyOne<Row extends { readonly treeId: string }>(
  { kind, id, treeId }: { readonly kind: string; readonly id: string; readonly treeId: string | null },
  rows: readonly Row[],
): Row | undefined {
  const meant = treeId === null ? rows : rows.filter((each) => each.treeId === treeId);
  const [row, ...others] = meant;
  if (others.length > 0) throw new AmbiguousId(kind, id, meant);
  return row;
}

const NAMED = 5;

/** Returns the trees of records, the first few by their ids. */
export function treesNamed(places: readonly { readonly treeId: string }[]): string {
  const trees = [...new Set(places.map(({ treeId }) => treeId))].sort();
  const named = trees.slice(0, NAMED).join(', ');
  return trees.length > NAMED ? `${named} and ${trees.length - NAMED} more` : named;
}
