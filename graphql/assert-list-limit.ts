import { refusal } from './errors.ts';

const LIST_LIMIT = 10_000; // items of a list without pages; as many as the largest page of a path or a tree

/** Returns a list that comes whole. @throws LIST_TOO_LARGE for a longer one: a part of it never looks like the whole. */
export function assertListLimit<Item>(items: readonly Item[]): readonly Item[] {
  const refused = exceedsListLimit(items);
  if (refused) throw refused;
  return items;
}

/** Returns the refusal of a list that is too long to come whole; undefined for others. */
export function exceedsListLimit(items: readonly unknown[]): Error | undefined {
  if (items.length <= LIST_LIMIT) return undefined;
  return refusal(
    'LIST_TOO_LARGE',
    `the list has ${items.length} items and ${LIST_LIMIT} come at once; read them by a list with pages (first, after): the steps of a tree, the rollouts or trajectories of a run`,
    { limit: 'items of a list', actual: String(items.length), allowed: LIST_LIMIT },
  );
}
