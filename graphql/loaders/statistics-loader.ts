import DataLoader from 'dataloader';
import type { Db } from '../../src/postgres/database.ts';
import {
  type NodeStatistics,
  readStatistics,
  readStatisticsAsOf,
} from '../../src/projections/search-statistics/read-statistics.ts';
import { groupBy } from './group-by.ts';

export interface StatisticsKey {
  readonly treeId: string;
  readonly stepId: string;
  /** The first so many back-ups; null for all. */
  readonly simulations: number | null;
}

/** Loads search statistics of steps. They are read by tree, one statement for each `asOfSimulation` that is asked. */
export function createStatisticsLoader(db: Db): DataLoader<StatisticsKey, NodeStatistics | null, string> {
  return new DataLoader(
    async (keys) => {
      const found = new Map<string, NodeStatistics>();
      for (const [simulations, alike] of groupBy(keys, (key) => key.simulations)) {
        const trees = [...new Set(alike.map(({ treeId }) => treeId))];
        const read = simulations === null ? readStatistics(db, trees) : readStatisticsAsOf(db, trees, simulations);
        for (const statistics of await read) found.set(`${statistics.stepId} ${simulations}`, statistics);
      }
      return keys.map(({ stepId, simulations }) => found.get(`${stepId} ${simulations}`) ?? null);
    },
    { cacheKeyFn: ({ stepId, simulations }) => `${stepId} ${simulations}` },
  );
}
