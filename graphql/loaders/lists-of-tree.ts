import DataLoader from 'dataloader';
import { assertListLimit } from '../assert-list-limit.ts';
import { manyOfTree, type OfTree } from './batch.ts';
import { groupBy } from './group-by.ts';

type Read<Item> = (trees: readonly string[], ids: readonly string[]) => Promise<readonly Item[]>;

/**
 * Lists that belong to records of a tree: the rewards of a step. They are loaded for all records of one tick in one statement, or
 * read ahead for a whole tree, after which each is there without a promise: a thousand promises per field cost more than the
 * statement.
 */
export class ListsOfTree<Item> {
  readonly #loader: DataLoader<OfTree, readonly Item[], string>;
  readonly #ahead: DataLoader<readonly OfTree[], void>;
  readonly #known = new Map<string, readonly Item[]>();

  constructor(read: Read<Item>, keyOf: (item: Item) => string | null) {
    this.#loader = manyOfTree(read, keyOf);
    this.#ahead = new DataLoader(
      async (groups) => {
        const records = groups.flat();
        const trees = new Set(records.map(({ treeId }) => treeId));
        const ids = records.map(({ id }) => id);
        const lists = groupBy(await read([...trees], ids), keyOf);
        for (const id of ids) this.#known.set(id, lists.get(id) ?? NONE);
        return groups.map(() => undefined);
      },
      { cache: false },
    );
  }

  /** Reads the lists of records, which `of` then returns at once; what several trees ask in one tick comes in one statement. */
  async readAhead(records: readonly OfTree[]): Promise<void> {
    if (records.length > 0) await this.#ahead.load(records);
  }

  of(record: OfTree): readonly Item[] | Promise<readonly Item[]> {
    const known = this.#known.get(record.id);
    return known ? assertListLimit(known) : this.#loader.load(record);
  }
}

const NONE: readonly never[] = [];
