import type { Db } from './database.ts';
import { chargeTo, type StatementMeter } from './statement-meter.ts';

/** Returns the same database with every statement charged to a meter, those of its transactions too. It reads only. */
export function metered(db: Db, meter: StatementMeter): Db {
  return db.withPlugin({
    transformQuery({ node, queryId }) {
      chargeTo(meter, queryId);
      return node;
    },
    transformResult: async ({ result }) => result,
  });
}
