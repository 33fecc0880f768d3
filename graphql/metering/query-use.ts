import type { Metrics } from '../../src/runtime/metrics.ts';

/** What a query used of the server. */
export interface QueryUse {
  readonly rows: number;
  /** Bytes of those rows. */
  readonly bytes: number;
  /** How long it was its turn. */
  readonly seconds: number;
}

/** Counts what queries use, by the id of the key that asks. */
export function countQueryUse(metrics: Metrics): (key: string, use: QueryUse) => void {
  const counter = (what: string, help: string) => metrics.counter(`query_${what}_by_key_total`, help, ['key']);
  const rows = counter('rows', 'Rows that queries read, by the id of the key that asked');
  const bytes = counter('bytes', 'Bytes of the rows that queries read, by the id of the key that asked');
  const seconds = counter('seconds', 'Time for which it was the turn of queries, by the id of the key that asked');
  return (key, use) => {
    rows.add(use.rows, { key });
    bytes.add(use.bytes, { key });
    seconds.add(use.seconds, { key });
  };
}
