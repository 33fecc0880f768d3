import DataLoader from 'dataloader';
import { groupBy } from '../../src/domain/group-by.ts';
import type { Db } from '../../src/postgres/database.ts';
import {
  type NodeStatistics,
  readStatistics,
  readStatisticsAsOf,
} from '../../src/projections/search-statistics/read-statistics.ts';

/** Which statistics of a tree: after its first so many back-ups; null: after all. */
export interface StatisticsKey {
  readonly treeId: string;
  readonly simulations: number | null;
}
type OfSteps = ReadonlyMap<string, NodeStatistics>;

/**
 * Search statistics, read by tree: one statement for all trees of a tick, and one more for each `asOfSimulation` that is asked.
 */
export class TreeStatistics {
  readonly #loader: DataLoader<StatisticsKey, OfSteps, string>;
  readonly #known = new Map<string, OfSteps>();

  constructor(db: Db) {
    this.#loader = new DataLoader((keys) => load(db, keys), { cacheKeyFn: nameOf });
  }

  /** Reads the statistics of a tree, which `of` then returns at once. */
  async readAhead(key: StatisticsKey): Promise<OfSteps> {
    const found = await this.#loader.load(key);
    this.#known.set(nameOf(key), found);
    return found;
  }

  of(stepId: string, key: StatisticsKey): NodeStatistics | null | Promise<NodeStatistics | null> {
    const known = this.#known.get(nameOf(key));
    return known ? (known.get(stepId) ?? null) : this.readAhead(key).then((found) => found.get(stepId) ?? null);
  }
}

async function load(db: Db, keys: readonly StatisticsKey[]): Promise<readonly OfSteps[]> {
  const found = new Map<string, Map<string, NodeStatistics>>(keys.map((key) => [nameOf(key), new Map()]));
  for (const [simulations, alike] of groupBy(keys, (key) => key.simulations)) {
    const trees = alike.map(({ treeId }) => treeId);
    const read = simulations === null ? readStatistics(db, trees) : readStatisticsAsOf(db, trees, simulations);
    for (const statistics of await read)
      found.get(nameOf({ treeId: statistics.treeId, simulations }))?.set(statistics.stepId, statistics);
  }
  return keys.map((key) => found.get(nameOf(key)) ?? new Map());
}

function nameOf({ treeId, simulations }: StatisticsKey): string {
  return `${treeId} ${simulations}`;
}
