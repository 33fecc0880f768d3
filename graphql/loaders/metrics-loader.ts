import DataLoader from 'dataloader';
import { groupBy } from '../../src/domain/group-by.ts';
import type { Db } from '../../src/postgres/database.ts';
import { type MetricRecord, readMetrics } from '../../src/projections/runs/read-metrics.ts';

export interface MetricsKey {
  readonly runId: string;
  /** Only this metric; null for all. */
  readonly metric: string | null;
  readonly last: number;
}

/** Loads the last points of the metrics of runs; runs of which the same is asked come in one statement. */
export function createMetricsLoader(db: Db): DataLoader<MetricsKey, readonly MetricRecord[], string> {
  return new DataLoader(
    async (keys) => {
      const found = new Map<MetricsKey, readonly MetricRecord[]>();
      for (const alike of groupBy(keys, ({ metric, last }) => JSON.stringify([metric, last])).values()) {
        const [{ metric, last } = { metric: null, last: 0 }] = alike; // a group has at least one
        const runs = alike.map(({ runId }) => runId);
        const byRun = groupBy(await readMetrics(db, runs, metric, last), ({ runId }) => runId);
        for (const key of alike) found.set(key, byRun.get(key.runId) ?? []);
      }
      return keys.map((key) => found.get(key) ?? []);
    },
    { cacheKeyFn: ({ runId, metric, last }) => JSON.stringify([runId, metric, last]) },
  );
}
