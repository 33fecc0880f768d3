import DataLoader from 'dataloader';
import { keyInTree, type OfTree } from '../../src/projections/of-tree.ts';
import { assertListLimit } from '../assert-list-limit.ts';
import { listsOf, manyOfTree } from './batch.ts';

type Read<Item> = (records: readonly OfTree[]) => Promise<readonly Item[]>;

/**
 * Lists that belong to records of a tree: the rewards of a step. They are loaded for all records of one tick in one statement, or
 * read ahead for a whole tree, after which each is there without a promise: a thousand promises per field cost more than the
 * statement.
 */
export class ListsOfTree<Item extends { readonly treeId: string }> {
  readonly #loader: DataLoader<OfTree, readonly Item[], string>;
  readonly #ahead: DataLoader<readonly OfTree[], void>;
  readonly #known = new Map<string, readonly Item[]>();

  constructor(read: Read<Item>, idOf: (item: Item) => string | null) {
    this.#loader = manyOfTree(read, idOf);
    this.#ahead = new DataLoader(
      async (groups) => {
        const records = groups.flat();
        const lists = await listsOf(read, idOf, records);
        for (const { treeId, id } of records) {
          const key = keyInTree(treeId, id);
          this.#known.set(key, lists.get(key) ?? NONE);
        }
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
    const known = this.#known.get(keyInTree(record.treeId, record.id));
    return known ? assertListLimit(known) : this.#loader.load(record);
  }
}

const NONE: readonly never[] = [];
