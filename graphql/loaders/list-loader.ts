import DataLoader from 'dataloader';
import { groupBy } from '../../src/domain/group-by.ts';
import type { Db } from '../../src/postgres/database.ts';
import type { Page, PageRequest } from '../../src/postgres/keyset.ts';
import type { Ordering } from '../../src/postgres/keyset-cursor.ts';

/** One page of one list. */
export interface ListKey<Filter> {
  readonly filter: Filter;
  readonly ordering: Ordering;
  readonly page: PageRequest;
}
export interface ListLoader<Filter, Item> {
  readonly page: DataLoader<ListKey<Filter>, Page<Item>, string>;
  readonly count: DataLoader<Filter, number, string>;
}

const STATEMENT_LIMIT = 100; // lists in one statement: each is planned on its own, about 0.1 ms

/** Loads pages of lists: the same connection on many records (the trees of each run) comes in one statement. */
export function createListLoader<Filter, Item>(
  db: Db,
  read: (db: Db, filters: readonly Filter[], ordering: Ordering, page: PageRequest) => Promise<readonly Page<Item>[]>,
  count: (db: Db, filters: readonly Filter[]) => Promise<readonly number[]>,
): ListLoader<Filter, Item> {
  return {
    page: new DataLoader(
      async (keys) => {
        const pages = new Map<ListKey<Filter>, Page<Item>>();
        for (const alike of groupBy(keys, ({ ordering, page }) => JSON.stringify([ordering.name, page])).values()) {
          const [{ ordering, page } = NO_KEY] = alike; // a group has at least one
          const filters = alike.map(({ filter }) => filter);
          for (const [i, found] of (await read(db, filters, ordering, page)).entries()) {
            const key = alike[i];
            if (key) pages.set(key, found);
          }
        }
        return keys.map((key) => pages.get(key) ?? NO_PAGE);
      },
      {
        maxBatchSize: STATEMENT_LIMIT,
        cacheKeyFn: ({ filter, ordering, page }) => JSON.stringify([filter, ordering.name, page]),
      },
    ),
    count: new DataLoader((filters) => count(db, filters), {
      maxBatchSize: STATEMENT_LIMIT,
      cacheKeyFn: (filter) => JSON.stringify(filter),
    }),
  };
}

const NO_KEY = {
  ordering: { name: '', direction: 'asc', keys: [] },
  page: { limit: 0, towards: 'forwards', after: null, before: null },
} as const;
const NO_PAGE = { rows: [], hasNext: false, hasPrevious: false };
