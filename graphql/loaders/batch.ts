import DataLoader from 'dataloader';
import { overHardPage } from '../assert-list-limit.ts';
import { refusal } from '../errors.ts';
import { groupBy } from './group-by.ts';

/** A record of a tree, asked for by its own id: the tree narrows the search to an index. */
export interface OfTree {
  readonly treeId: string;
  readonly id: string;
}

/** Loads one item per key; all keys of one tick in one statement. */
export function one<Item>(
  read: (keys: readonly string[]) => Promise<readonly Item[]>,
  keyOf: (item: Item) => string,
): DataLoader<string, Item | null> {
  return new DataLoader(async (keys) => {
    const items = groupBy(await read(keys), keyOf);
    return keys.map((key) => {
      const [item = null, ...others] = items.get(key) ?? [];
      return others.length === 0 ? item : ambiguous(key);
    });
  });
}

/** Something of a tree is identified by its id within the tree: an id that several trees have names none of them. */
function ambiguous(id: string): Error {
  return refusal('BAD_USER_INPUT', `the id ${id} is ambiguous: several trees have it; ask for it through its tree`);
}

/** Loads a value per key from a map; all keys of one tick in one statement. */
export function mapped<Value>(
  read: (keys: readonly string[]) => Promise<ReadonlyMap<string, Value>>,
): DataLoader<string, Value | null> {
  return new DataLoader(async (keys) => {
    const values = await read(keys);
    return keys.map((key) => values.get(key) ?? null);
  });
}

/** Loads a list per key, no longer than the hard page; all keys of one tick in one statement. */
export function many<Item>(
  read: (keys: readonly string[]) => Promise<readonly Item[]>,
  keyOf: (item: Item) => string,
): DataLoader<string, readonly Item[]> {
  return new DataLoader(async (keys) => {
    const lists = groupBy(await read(keys), keyOf);
    return keys.map((key) => whole(lists.get(key)));
  });
}

/** Loads a list per record of a tree, no longer than the hard page; all records of one tick in one statement. */
export function manyOfTree<Item>(
  read: (trees: readonly string[], ids: readonly string[]) => Promise<readonly Item[]>,
  keyOf: (item: Item) => string | null,
): DataLoader<OfTree, readonly Item[], string> {
  return new DataLoader(
    async (keys) => {
      const trees = new Set(keys.map(({ treeId }) => treeId));
      const lists = groupBy(
        await read(
          [...trees],
          keys.map(({ id }) => id),
        ),
        keyOf,
      );
      return keys.map(({ id }) => whole(lists.get(id)));
    },
    { cacheKeyFn: ({ id }) => id },
  );
}

function whole<Item>(items: readonly Item[] = []): readonly Item[] | Error {
  return overHardPage(items) ?? items;
}
