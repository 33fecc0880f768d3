import DataLoader from 'dataloader';
import { groupBy } from '../../src/domain/group-by.ts';
import type { Db } from '../../src/postgres/database.ts';
import { treesNamed } from '../../src/projections/ambiguous-id.ts';
import { keyInTree, keyOf, type OfTree } from '../../src/projections/of-tree.ts';
import { exceedsListLimit } from '../assert-list-limit.ts';
import { refusal } from '../errors.ts';

/** Returns a reader of keys for one of the database and keys. */
export function readFrom(db: Db) {
  return <Keys, Found>(read: (db: Db, keys: Keys) => Found) =>
    (keys: Keys): Found =>
      read(db, keys);
}

/** Loads one item per key; all keys of one tick in one statement. An id that several trees have is refused as ambiguous. */
export function one<Item>(
  read: (keys: readonly string[]) => Promise<readonly Item[]>,
  keyOf: (item: Item) => string,
): DataLoader<string, Item | null> {
  return new DataLoader(async (keys) => {
    const items = groupBy(await read(keys), keyOf);
    return keys.map((key) => {
      const [item = null, ...others] = items.get(key) ?? [];
      return others.length === 0 ? item : ambiguous(key, items.get(key) ?? []);
    });
  });
}

/** Something of a tree is identified by its id within the tree: an id that several trees have names none of them. */
function ambiguous(id: string, items: readonly unknown[]): Error {
  const places = items as readonly { readonly treeId: string }[]; // nothing else is found twice under one id
  return refusal(
    'BAD_USER_INPUT',
    `the id ${id} is ambiguous: the trees ${treesNamed(places)} have one each; name one by the argument tree`,
  );
}

/** Loads one item per record of a tree; all records of one tick in one statement. */
export function oneOfTree<Item extends OfTree>(
  read: (records: readonly OfTree[]) => Promise<readonly Item[]>,
): DataLoader<OfTree, Item | null, string> {
  return new DataLoader(
    async (records) => {
      const items = new Map((await read(records)).map((item) => [keyOf(item), item]));
      return records.map((record) => items.get(keyOf(record)) ?? null);
    },
    { cacheKeyFn: keyOf },
  );
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

/** Loads a value per record of a tree from a map by `keyInTree`; all records of one tick in one statement. */
export function mappedOfTree<Value>(
  read: (records: readonly OfTree[]) => Promise<ReadonlyMap<string, Value>>,
): DataLoader<OfTree, Value | null, string> {
  return new DataLoader(
    async (records) => {
      const values = await read(records);
      return records.map((record) => values.get(keyOf(record)) ?? null);
    },
    { cacheKeyFn: keyOf },
  );
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
export function manyOfTree<Item extends { readonly treeId: string }>(
  read: (records: readonly OfTree[]) => Promise<readonly Item[]>,
  idOf: (item: Item) => string | null,
): DataLoader<OfTree, readonly Item[], string> {
  return new DataLoader(
    async (records) => {
      const lists = await listsOf(read, idOf, records);
      return records.map((record) => whole(lists.get(keyOf(record))));
    },
    { cacheKeyFn: keyOf },
  );
}

/** Returns the trees of records and their ids, for readers that narrow the search to an index of trees. */
export function treesAndIds(records: readonly OfTree[]): readonly [trees: readonly string[], ids: readonly string[]] {
  return [[...new Set(records.map(({ treeId }) => treeId))], records.map(({ id }) => id)];
}

/** Reads the lists of records of trees, by `keyInTree`. */
export async function listsOf<Item extends { readonly treeId: string }>(
  read: (records: readonly OfTree[]) => Promise<readonly Item[]>,
  idOf: (item: Item) => string | null,
  records: readonly OfTree[],
): Promise<ReadonlyMap<string, readonly Item[]>> {
  return groupBy(await read(records), (item) => keyInTree(item.treeId, idOf(item) ?? ''));
}

function whole<Item>(items: readonly Item[] = []): readonly Item[] | Error {
  return exceedsListLimit(items) ?? items;
}
